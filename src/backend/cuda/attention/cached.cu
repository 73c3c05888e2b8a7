#include "backend/cuda/attention/cached_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    store_steps(CachedAttention shape, const T* __restrict__ qkv, float* keys, float* values) {
  const std::int64_t of_cache = shape.of_cache(),
                     all = std::int64_t{shape.steps} * shape.sequences * of_cache;
  for (auto i = static_cast<std::int64_t>(thread_index()); i < all;
       i += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t row = i / of_cache, column = i - row * of_cache;
    const std::int64_t step = *shape.position + row / shape.sequences, sequence = row % shape.sequences;
    if (step < 0 || step >= shape.room) continue;
    const T* from = qkv + row * shape.width() + std::int64_t{shape.heads} * shape.head_size + column;
    const std::int64_t to = (sequence * shape.room + step) * of_cache + column;
    keys[to] = to_float(from[0]);
    values[to] = to_float(from[of_cache]);
  }
}

constexpr int kWarps = 4, kLargestHead = 256, kOfLane = kLargestHead / 32;

// A block takes a head of a new step. Its warps take every fourth step of the cache each, with a running
// maximum; the first threads join their sums in the order of the warps.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32)
    attend(CachedAttention shape, const T* __restrict__ qkv, const float* __restrict__ keys,
           const float* __restrict__ values, T* dst) {
  __shared__ float highest_of[kWarps], total_of[kWarps], sums_of[kWarps][kLargestHead];
  const int head = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32, size = shape.head_size;
  const std::int64_t row = blockIdx.x, sequence = row % shape.sequences;
  const std::int64_t step = *shape.position + row / shape.sequences;
  T* to = dst + (row * shape.heads + head) * size;
  if (step < 0 || step >= shape.room) {
    for (int i = threadIdx.x; i < size; i += kWarps * 32) to[i] = from_float<T>(NAN);
    return;
  }
  const T* query = qkv + row * shape.width() + std::int64_t{head} * size;
  const std::int64_t first =
      sequence * shape.room * shape.of_cache() + std::int64_t{head / (shape.heads / shape.kv_heads)} * size;
  float q[kOfLane], sums[kOfLane] = {}, highest = -INFINITY, total = 0;
#pragma unroll
  for (int i = 0; i < kOfLane; ++i) q[i] = lane + 32 * i < size ? to_float(query[lane + 32 * i]) : 0.0f;
  for (std::int64_t t = warp; t <= step; t += kWarps) {
    const std::int64_t at = first + t * shape.of_cache();
    float product = 0;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i)
      if (lane + 32 * i < size) product = fmaf(q[i], keys[at + lane + 32 * i], product);
    const float score = shape.scale * warp_sum(product), now = fmaxf(highest, score);
    const float shrink = expf(highest - now), share = expf(score - now);
    highest = now;
    total = fmaf(total, shrink, share);
#pragma unroll
    for (int i = 0; i < kOfLane; ++i)
      if (lane + 32 * i < size) sums[i] = fmaf(sums[i], shrink, share * values[at + lane + 32 * i]);
  }
  if (lane == 0) {
    highest_of[warp] = highest;
    total_of[warp] = total;
  }
#pragma unroll
  for (int i = 0; i < kOfLane; ++i)
    if (lane + 32 * i < size) sums_of[warp][lane + 32 * i] = sums[i];
  __syncthreads();
  float largest = -INFINITY;
  for (int w = 0; w < kWarps; ++w) largest = fmaxf(largest, highest_of[w]);
  for (int i = threadIdx.x; i < size; i += kWarps * 32) {
    float sum = 0, all = 0;
    for (int w = 0; w < kWarps; ++w) {
      const float share = expf(highest_of[w] - largest);  // 0 where a warp had no step
      sum = fmaf(share, sums_of[w][i], sum);
      all = fmaf(share, total_of[w], all);
    }
    to[i] = from_float<T>(sum / all);
  }
}

}  // namespace

template <typename T>
void cached_attention(cudaStream_t stream, const CachedAttention& shape, const T* qkv, float* keys,
                      float* values, T* dst) {
  const auto stored =
      static_cast<std::size_t>(std::int64_t{shape.steps} * shape.sequences * shape.of_cache());
  store_steps<T><<<grid_for(stored), kThreads, 0, stream>>>(shape, qkv, keys, values);
  check_launch("cached_attention: store_steps");
  const dim3 blocks(static_cast<unsigned>(shape.steps * shape.sequences), static_cast<unsigned>(shape.heads));
  attend<T><<<blocks, kWarps * 32, 0, stream>>>(shape, qkv, keys, values, dst);
  check_launch("cached_attention");
}

template void cached_attention(cudaStream_t, const CachedAttention&, const float*, float*, float*, float*);
template void cached_attention(cudaStream_t, const CachedAttention&, const bf16*, float*, float*, bf16*);

}  // namespace trainyard::backend::cuda::device
