#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/device.h"

namespace trainyard::backend::cuda::device {

// See Device::mark_step. The clock is the GPU's global timer.
void mark_step(cudaStream_t stream, StepContext* context, const float* loss, StepMark* marks,
               std::int64_t count);

void count_step(cudaStream_t stream, StepContext* context);

// Floats (of 4 bytes, or bf16 of 2): about normal. Other elements of `bytes` bytes: 0 or 1.
void fill_random(cudaStream_t stream, std::byte* to, std::size_t elements, int bytes, bool floats);

}  // namespace trainyard::backend::cuda::device
