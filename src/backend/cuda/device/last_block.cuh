#pragma once

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {

// Sums in one launch: every block leaves its part in device memory, and the last one to finish adds the parts
// up in a fixed order. True for all threads of that block, which then see what the others wrote (read it with
// __ldcg). `counter` is 0 before the launch and again behind it.
__device__ inline bool is_last_block(std::uint32_t* counter) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

// The sum of `count` parts, by all threads of one block, always in the same order.
__device__ inline float sum_in_order(const float* parts, std::int64_t count) {
  __shared__ float scratch[32];
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += __ldcg(parts + i);
  return block_sum(sum, scratch);
}

}  // namespace trainyard::backend::cuda::device
