#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/channel_sums.h"
#include "backend/cuda/runtime/chunks.h"

namespace trainyard::backend::cuda::device {

struct BatchNormScales {
  const float *gamma, *beta;
  float *running_mean, *running_variance;
  float *mean, *inverse;  // of this batch
  float epsilon, momentum;
};

// Sums over the rows, then mean, inverse deviation and running statistics.
template <typename T>
void batch_norm_statistics(cudaStream_t stream, const ChannelSums& sums, const T* src,
                           const BatchNormScales& scales, const ChannelSumsWorkspace& workspace);

// For inference: mean and inverse deviation from the running statistics.
void batch_norm_running(cudaStream_t stream, const ChannelSums& sums, const BatchNormScales& scales,
                        const ChannelSumsWorkspace& workspace);

// Runs after one of the two above: dst = act(gamma * (src - mean) * inverse + beta [+ residual]); residual
// may be null.
template <typename T>
void batch_norm_apply(cudaStream_t stream, const ChannelSums& sums, const T* src, const T* residual,
                      const ChannelSumsWorkspace& workspace, Activation activation, T* dst);

// The tensors that the gradient reads besides d_dst and src. The gradient passes where dst > 0. `dst` is
// read, or, when it is null and beta is not, computed again, which saves a pass over memory.
template <typename T>
struct BatchNormGradient {
  const T *d_dst, *src, *dst;
  const float *gamma, *beta, *mean, *inverse;
};

template <typename T>
void batch_norm_gradient_sums(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                              float* d_gamma, float* d_beta, const ChannelSumsWorkspace& workspace);
// Runs after batch_norm_gradient_sums().
template <typename T>
void batch_norm_gradient_apply(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                               const ChannelSumsWorkspace& workspace, T* d_src);

// Holds the number of pixels with their neighbouring channels, and the values of ops::LocalResponseNormAttrs.
struct ResponseNorm {
  std::int64_t pixels;
  int channels, radius;
  float k, alpha, beta;
};

// Pixels with more channels do not fit into shared memory.
inline constexpr int kMaxResponseNormChannels = 6144;

// T: float or __nv_bfloat16. dst may be src; d_src may be d_dst or src.
template <typename T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* src, T* dst);
template <typename T>
void local_response_norm_grad(cudaStream_t stream, const ResponseNorm& norm, const T* d_dst, const T* src,
                              T* d_src);

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
