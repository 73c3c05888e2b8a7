#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/device.h"
#include "backend/sample_gather.h"

namespace trainyard::backend::cuda::device {

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
