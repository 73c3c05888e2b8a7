#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/device.h"

namespace trainyard::backend::cuda::device {

// In words of 16 bytes.
struct InputRingMemory {
  const uint4* ring;
  std::int64_t places;
  std::size_t place_words, image_words, labels_at, label_words;
  uint4 *images, *labels;
  std::int64_t* begins;
  std::int64_t begins_count;
  const StepContext* context;
};

// Copies the batch of the step that the context says out of the ring, and notes when that began.
void take_from_ring(cudaStream_t stream, const InputRingMemory& memory);

}  // namespace trainyard::backend::cuda::device
