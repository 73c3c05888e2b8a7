#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/cuda/elementwise/elementwise_kernels.h"

namespace trainyard::backend::cuda::device {

// The values of ops::AttentionAttrs for one problem.
struct AttentionShape {
  std::int64_t sequence_stride, step_stride;  // rows from one sequence, or step, to the next
  int sequences, steps, heads, kv_heads, head_size;
  bool causal;
  float scale;
  const std::int32_t* lengths;  // of the sequences; null: all are whole
  Dropout dropout;              // of the probabilities; a rate of 0: none

  constexpr std::int64_t row(int n, int t) const { return n * sequence_stride + t * step_stride; }
  constexpr std::int64_t width() const { return static_cast<std::int64_t>(heads + 2 * kv_heads) * head_size; }
  constexpr std::int64_t dst_width() const { return static_cast<std::int64_t>(heads) * head_size; }
  constexpr int kv_head_of(int head) const { return head / (heads / kv_heads); }
  // The first element of a vector of step 0 within sequence n; steps are step_stride * width() apart.
  constexpr std::int64_t query(int n, int head) const {
    return row(n, 0) * width() + static_cast<std::int64_t>(head) * head_size;
  }
  constexpr std::int64_t key(int n, int kv_head) const { return query(n, heads + kv_head); }
  constexpr std::int64_t value(int n, int kv_head) const { return query(n, heads + kv_heads + kv_head); }
  constexpr std::int64_t dst(int n, int head) const {
    return row(n, 0) * dst_width() + static_cast<std::int64_t>(head) * head_size;
  }
  constexpr std::int64_t log_sum(int n, int head) const {
    return (static_cast<std::int64_t>(n) * heads + head) * steps;
  }
};

inline constexpr int kLargestHead = 256;

// `deltas`: a number for each query, the product of its d_dst and dst. `column_parts`: null, or a row as wide
// as qkv for each tile of each sequence, of which the gradient by warpgroups leaves the sums of the tile's
// columns.
template <typename T>
struct AttentionGradient {
  const T *d_dst, *qkv, *dst;
  const float* log_sums;
  float* deltas;
  T* d_qkv;
  float* column_parts = nullptr;
};

// T: float or __nv_bfloat16. They take anything that the op takes, and compute in f32.
template <typename T>
void attention_plain(cudaStream_t stream, const AttentionShape& shape, const T* qkv, T* dst, float* log_sums);
template <typename T>
void attention_plain_grad(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at);

// On matrix units; float is rounded to tf32. T: float or __nv_bfloat16. REQUIRES: head_size is a multiple of
// 16 bytes and at most kLargestTiledHead.
inline constexpr int kLargestTiledHead = 128;
template <typename T>
void attention_tiled(cudaStream_t stream, const AttentionShape& shape, const T* qkv, T* dst, float* log_sums);
template <typename T>
void attention_tiled_grad(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at);

// The gradient by whole warpgroups. REQUIRES: head_size is a multiple of 8 and at most kLargestWarpgroupHead,
// nothing is dropped.
inline constexpr int kLargestWarpgroupHead = 64, kWarpgroupTile = 64;
void attention_warpgroup_grad(cudaStream_t stream, const AttentionShape& shape,
                              const AttentionGradient<__nv_bfloat16>& at);

// Fills at.deltas. T: float or __nv_bfloat16.
template <typename T>
void attention_deltas(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at);

}  // namespace trainyard::backend::cuda::device
