#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/input.h"
#include "backend/step_context.h"

namespace trainyard::backend::cuda::device {

struct InputBatchMemory {
  const std::uint8_t* images;  // (N, C, H, W), the whole data set
  const std::int32_t* labels;  // (N)
  float* batch_images;         // (batch, C, h, w)
  std::int32_t* batch_labels;  // (batch)
  const StepContext* context;
};

// The batch of the step that the context says: chosen, cut out, flipped and normalised.
void input_batch(cudaStream_t stream, const InputBatch& batch, const InputBatchMemory& memory);

// Sizes are counted in words of 16 bytes.
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

struct SampleGatherMemory {
  const std::byte* ring;  // of GatheredSample and labels, as InputRing says
  std::int64_t places;
  std::size_t place_bytes, labels_at;
  const std::uint8_t* samples;  // (N, H, W, C)
  float* images;                // (batch, C, H, W)
  std::int32_t* labels;         // (batch)
  std::int64_t* begins;
  std::int64_t begins_count;
  const StepContext* context;
};

// The batch of the step that the context says: chosen, mirrored and normalised. Notes when that began.
void gather_samples(cudaStream_t stream, const SampleGather& gather, const SampleGatherMemory& memory);

}  // namespace trainyard::backend::cuda::device
