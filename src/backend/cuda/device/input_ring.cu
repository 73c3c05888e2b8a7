#include "backend/cuda/device/input_ring.h"

#include "backend/cuda/device/clock.cuh"
#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

__global__ void take(InputRingMemory memory) {
  const std::int64_t step = memory.context->step;
  if (thread_index() == 0) memory.begins[step % memory.begins_count] = global_nanoseconds();
  const uint4* from = memory.ring + static_cast<std::size_t>(step % memory.places) * memory.place_words;
  for (std::size_t i = thread_index(); i < memory.image_words; i += thread_count())
    memory.images[i] = from[i];
  for (std::size_t i = thread_index(); i < memory.label_words; i += thread_count())
    memory.labels[i] = from[memory.labels_at + i];
}

}  // namespace

void take_from_ring(cudaStream_t stream, const InputRingMemory& memory) {
  take<<<grid_for(memory.image_words), kThreads, 0, stream>>>(memory);
  check_launch("take_from_ring");
}

}  // namespace trainyard::backend::cuda::device
