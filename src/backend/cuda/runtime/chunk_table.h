#pragma once

#include "backend/cuda/runtime/chunks.h"
#include "backend/cuda/runtime/context.h"
#include "backend/device.h"
#include "base/error.h"
#include "tensor/tensor.h"

namespace trainyard::backend::cuda {

// The tensors of one kernel, listed in device memory. Filled when the kernel is bound.
template <typename Tensor>
class ChunkTable {
 public:
  void fill(Context& context, std::vector<Tensor> tensors) {
    std::vector<std::uint32_t> tensor_of;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].first_chunk = static_cast<std::uint32_t>(tensor_of.size());
      const std::int64_t chunks = (tensors[i].elements + device::kChunkElements - 1) / device::kChunkElements;
      tensor_of.insert(tensor_of.end(), static_cast<std::size_t>(chunks), static_cast<std::uint32_t>(i));
    }
    const std::size_t index_at = align_up(tensors.size() * sizeof(Tensor));
    const std::size_t index_bytes = tensor_of.size() * sizeof(std::uint32_t);
    // The device outlives its kernels.
    memory_ =
        DeviceMemory(std::shared_ptr<Device>(std::shared_ptr<Device>(), &context), index_at + index_bytes);
    context.write(memory_.data(), tensors.data(), tensors.size() * sizeof(Tensor));
    context.write(memory_.data() + index_at, tensor_of.data(), index_bytes);
    chunks_ = {reinterpret_cast<const Tensor*>(memory_.data()),
               reinterpret_cast<const std::uint32_t*>(memory_.data() + index_at),
               static_cast<std::uint32_t>(tensor_of.size())};
    if (tensors.size() > device::Chunks<Tensor>::kFew) return;
    chunks_.few_count = static_cast<std::uint32_t>(tensors.size());
    std::copy(tensors.begin(), tensors.end(), chunks_.few);
  }

  const device::Chunks<Tensor>& chunks() const { return chunks_; }

 private:
  DeviceMemory memory_;
  device::Chunks<Tensor> chunks_;
};

}  // namespace trainyard::backend::cuda
