#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/device.h"
#include "backend/input_batch.h"

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

}  // namespace trainyard::backend::cuda::device
