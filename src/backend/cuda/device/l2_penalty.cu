#include "backend/cuda/device/l2_penalty.h"

#include "backend/cuda/device/chunks.cuh"
#include "backend/cuda/device/last_block.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_squares(const __grid_constant__ Chunks<PenaltyTensor> chunks, float factor, float* parts,
                std::uint32_t* counter, T* penalty) {
  __shared__ float scratch[32];
  float sum = 0;
  for_each_chunk(chunks, [&](const PenaltyTensor& tensor, std::int64_t first) {
    float quads[kQuads][4];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const std::int64_t at = first + q * kThreads * 4;
      if (tensor.is_bf16)
        load_quad(static_cast<const bf16*>(tensor.weight), at, tensor.elements, quads[q]);
      else
        load_quad(static_cast<const float*>(tensor.weight), at, tensor.elements, quads[q]);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += quads[q][i] * quads[q][i];
  });
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  if (!is_last_block(counter)) return;
  const float all = sum_in_order(parts, gridDim.x);
  if (threadIdx.x == 0) *penalty = from_float<T>(factor * all);
}

}  // namespace

template <typename T>
void l2_penalty(cudaStream_t stream, const Chunks<PenaltyTensor>& chunks, float factor, float* parts,
                std::uint32_t* counter, T* penalty) {
  const int blocks = std::max(1, std::min(grid_for(chunks), kMaxPenaltyParts));
  sum_squares<<<blocks, kThreads, 0, stream>>>(chunks, factor, parts, counter, penalty);
  check_launch("l2_penalty");
}

template void l2_penalty(cudaStream_t, const Chunks<PenaltyTensor>&, float, float*, std::uint32_t*, float*);
template void l2_penalty(cudaStream_t, const Chunks<PenaltyTensor>&, float, float*, std::uint32_t*, bf16*);

}  // namespace trainyard::backend::cuda::device
