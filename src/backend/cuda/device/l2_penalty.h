#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "backend/cuda/device/chunks.h"

namespace trainyard::backend::cuda::device {

struct PenaltyTensor {
  const void* weight;
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool is_bf16;  // otherwise f32
};

// At most so many blocks leave a part of the sum.
inline constexpr int kMaxPenaltyParts = 132 * 8;

// factor * sum of the squares of all tensors, in one launch. `parts` holds kMaxPenaltyParts floats; `counter`
// is 0 before and after. T: float or __nv_bfloat16.
template <typename T>
void l2_penalty(cudaStream_t stream, const Chunks<PenaltyTensor>& chunks, float factor, float* parts,
                std::uint32_t* counter, T* penalty);

}  // namespace trainyard::backend::cuda::device
