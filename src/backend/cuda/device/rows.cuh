#pragma once

#include "backend/cuda/device/launch.cuh"

// Kernels that give each row of a matrix to a warp, or to a whole block when it is long.
namespace trainyard::backend::cuda::device {

inline constexpr std::int64_t kLongRow = 1024;

__device__ inline float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, offset));
  return x;
}

// kGroup threads that share a row: 32 or kThreads. All threads of a block make the same calls.
template <int kGroup>
struct RowGroup {
  static constexpr int kRowsPerBlock = kThreads / kGroup;

  __device__ static int row_in_block() { return threadIdx.x / kGroup; }
  __device__ static int lane() { return threadIdx.x % kGroup; }

  __device__ static float sum(float x) {
    return reduce(warp_sum(x), 0.0f, [](float y) { return warp_sum(y); });
  }
  __device__ static float max(float x) {
    return reduce(warp_max(x), -INFINITY, [](float y) { return warp_max(y); });
  }

 private:
  template <typename Join>
  __device__ static float reduce(float of_warp, float nothing, const Join& join) {
    if constexpr (kGroup == 32) {
      return of_warp;
    } else {
      __shared__ float scratch[32];
      __syncthreads();  // the one before may still be read
      if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = of_warp;
      __syncthreads();
      return join(threadIdx.x % 32 < kThreads / 32 ? scratch[threadIdx.x % 32] : nothing);
    }
  }
};

// Calls start.operator()<kGroup>(blocks) with as many blocks as rows need.
template <typename Start>
void with_row_groups(std::int64_t rows, std::int64_t length, const Start& start) {
  const auto blocks = [&](std::int64_t per_block) {
    return static_cast<int>((rows + per_block - 1) / per_block);
  };
  if (length > kLongRow)
    start.template operator()<kThreads>(blocks(1));
  else
    start.template operator()<32>(blocks(RowGroup<32>::kRowsPerBlock));
}

}  // namespace trainyard::backend::cuda::device
