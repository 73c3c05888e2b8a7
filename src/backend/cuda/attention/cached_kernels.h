#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// The values of ops::CachedAttentionAttrs, and the sizes of its inputs.
struct CachedAttention {
  int steps, sequences, heads, kv_heads, head_size;  // at most 256 numbers a head
  std::int64_t room;
  float scale;
  const std::int32_t* position;  // of the first new step, in device memory

  __host__ __device__ std::int64_t of_cache() const { return std::int64_t{kv_heads} * head_size; }
  __host__ __device__ std::int64_t width() const { return (heads + 2 * std::int64_t{kv_heads}) * head_size; }
};

// Writes the new keys and values into the caches, then attends. T: float or __nv_bfloat16.
template <typename T>
void cached_attention(cudaStream_t stream, const CachedAttention& shape, const T* qkv, float* keys,
                      float* values, T* dst);

}  // namespace trainyard::backend::cuda::device
