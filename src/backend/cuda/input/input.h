#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/runtime/context.h"
#include "backend/cuda/runtime/event_clock.h"
#include "backend/input.h"

namespace trainyard::backend::cuda {

// Page-locked memory of the host, which the GPU reaches by itself; zeroed.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes);  // Error (device) "out of memory" with the bytes asked and free
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

// Null where the images are too large to be prepared on the GPU.
std::unique_ptr<Kernel> make_input_batch(Context& context, const InputBatch& batch);

std::unique_ptr<Kernel> make_input_ring(Context& context, const InputRing& ring);

std::unique_ptr<Kernel> make_sample_gather(Context& context, const SampleGather& gather,
                                           const InputRing& ring);

// Makes a queue with a stream of its own; `stream`, where the kernels run, and the clock must outlive it.
std::unique_ptr<CopyQueue> make_copy_queue(cudaStream_t stream, int places, std::size_t host_bytes,
                                           const EventClock& clock);

}  // namespace trainyard::backend::cuda
