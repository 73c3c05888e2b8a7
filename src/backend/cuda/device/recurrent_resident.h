#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// A whole sequence in one launch, in bf16: each block keeps its part of U in registers, and after each step
// all blocks of a part of the batch wait for each other. The number of gates tells the cell: 1 rnn, 3 gru, 4
// lstm.
struct ResidentSizes {
  static constexpr int kUnits = 8, kBatch = 32;  // of one block
  static constexpr int kMostHidden = 1024;

  std::int64_t steps, batch, hidden;  // hidden: a multiple of 4
  int gates;

  unsigned groups() const { return static_cast<unsigned>((batch + kBatch - 1) / kBatch); }
  unsigned blocks_of_group() const { return static_cast<unsigned>((hidden + kUnits - 1) / kUnits); }
};

// Tensors as ops/recurrent.h has them.
struct ResidentForward {
  const __nv_bfloat16 *x, *recurrent_weight;  // x: W x of all steps; may be where `gates` is
  const float* bias;
  __nv_bfloat16 *dst, *gates, *inner;  // the last two null: not wanted
  std::uint32_t* counters;             // two for each group, 0 before and after
};
struct ResidentBackward {
  const __nv_bfloat16 *d_dst, *recurrent_weight, *dst, *gates, *inner;
  __nv_bfloat16 *d_x, *d_u;  // gradients of W x + b and of U h; the same but for gru
  std::uint32_t* counters;
};

// Whether all blocks can be on the GPU at once, which they wait for.
bool resident_fits(const ResidentSizes& sizes, bool backward, int multiprocessors);
void recurrent_resident(cudaStream_t stream, const ResidentSizes& sizes, const ResidentForward& tensors);
void recurrent_resident_grad(cudaStream_t stream, const ResidentSizes& sizes,
                             const ResidentBackward& tensors);

}  // namespace trainyard::backend::cuda::device
