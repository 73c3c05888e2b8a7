#pragma once

// All kernels of the CUDA backend share these helpers: loops over the grid, vectors, sums over a block.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "backend/cuda/runtime/check.h"

namespace trainyard::backend::cuda::device {

using bf16 = __nv_bfloat16;

inline constexpr int kThreads = 256;
// Enough blocks to fill any GPU of today several times; loops stride over the rest.
inline constexpr std::size_t kMaxBlocks = 132 * 16;

// Returns the number of blocks for a loop of `items` with one item a thread.
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

// Returns the sum over all threads of a block of at most 1024, for every one of them. `scratch` holds 32
// floats of shared memory, free to use again after the next __syncthreads().
__device__ inline float block_sum(float x, float* scratch) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
  x = warp_sum(x);
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : 0.0f);
}

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

// Returns the time of the global timer, which is the same for the whole GPU.
__device__ inline std::int64_t global_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return static_cast<std::int64_t>(now);
}

// Returns the size of the largest word, of at most 16 bytes, that divides all these multiples of a power of
// two.
template <typename... Bytes>
std::int64_t word_bytes(Bytes... bytes) {
  std::int64_t word = 16;
  ((word = std::gcd(word, static_cast<std::int64_t>(bytes))), ...);
  return word;
}

// Calls start(Word{}) with a type of so many bytes.
template <typename Start>
void with_word(std::int64_t bytes, const Start& start) {
  if (bytes == 16) start(uint4{});
  if (bytes == 8) start(uint2{});
  if (bytes == 4) start(std::uint32_t{});
  if (bytes == 2) start(std::uint16_t{});
  if (bytes == 1) start(std::uint8_t{});
}

}  // namespace trainyard::backend::cuda::device
