#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cuda/check.h"

// What kernels of this folder share: loops over the grid, vectors, sums over a block.
namespace trainyard::backend::cuda::device {

using bf16 = __nv_bfloat16;

inline constexpr int kThreads = 256;
// Enough blocks to fill any GPU of today several times; loops stride over the rest.
inline constexpr std::size_t kMaxBlocks = 132 * 16;

// Blocks for a loop of `items` with one item a thread.
inline int grid_for(std::size_t items, std::size_t threads = kThreads) {
  return static_cast<int>(std::min((items + threads - 1) / threads, kMaxBlocks));
}

inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

__device__ inline std::size_t thread_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t thread_count() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }
template <typename T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline bf16 from_float<bf16>(float x) {
  return __float2bfloat16(x);
}

// kSize neighbours that one instruction loads or stores: 16 bytes when kSize = 16 / sizeof(T).
template <typename T, int kSize>
struct alignas(sizeof(T) * kSize) Vector {
  T at[kSize];
};

__device__ inline float warp_sum(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, offset);
  return x;
}

// The sum over all threads of a block of at most 1024, for every one of them. `scratch` holds 32 floats of
// shared memory, free to use again after the next __syncthreads().
__device__ inline float block_sum(float x, float* scratch) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
  x = warp_sum(x);
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : 0.0f);
}

}  // namespace trainyard::backend::cuda::device
