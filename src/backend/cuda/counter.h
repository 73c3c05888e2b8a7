#pragma once

#include "backend/cuda/context.h"
#include "backend/device_memory.h"

namespace trainyard::backend::cuda {

// Counts the blocks of a kernel that have finished (device/last_block.cuh). It belongs to the kernel, because
// what lies in a workspace is other kernels' between two runs.
class Counter {
 public:
  // `count` of them side by side. The device outlives its kernels.
  explicit Counter(Context& context, int count = 1)
      : memory_(std::shared_ptr<Device>(std::shared_ptr<Device>(), &context),
                static_cast<std::size_t>(count) * sizeof(std::uint32_t)) {
    context.wait();  // until it is zero, for whichever lane the kernel runs in
  }
  std::uint32_t* get() const { return reinterpret_cast<std::uint32_t*>(memory_.data()); }

 private:
  DeviceMemory memory_;
};

}  // namespace trainyard::backend::cuda
