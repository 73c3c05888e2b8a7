#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/step_context.h"

namespace trainyard::backend::cuda::device {

// See Device::mark_step. The clock is the GPU's global timer.
void mark_step(cudaStream_t stream, StepContext* context, const float* loss, StepMark* marks,
               std::int64_t count);

void count_step(cudaStream_t stream, StepContext* context);

// Fills floats (of 4 bytes, or bf16 of 2) with about normal numbers, and other elements of `bytes` bytes with
// 0 or 1.
void fill_random(cudaStream_t stream, std::byte* to, std::size_t elements, int bytes, bool floats);

// Small fills of a graph, which libraries start as memsets, become kernels: in a graph of several branches
// the driver sets aside about 350 KiB of the GPU for every memset of a few bytes, a hundred times a kernel's
// share.
void fill_by_kernels(cudaGraph_t graph);

}  // namespace trainyard::backend::cuda::device
