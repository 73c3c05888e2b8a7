#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/cuda/device/activation.h"
#include "backend/cuda/device/channel_sums.h"

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

// Behind one of the two: dst = act(gamma * (src - mean) * inverse + beta [+ residual]); residual may be null.
template <typename T>
void batch_norm_apply(cudaStream_t stream, const ChannelSums& sums, const T* src, const T* residual,
                      const ChannelSumsWorkspace& workspace, Activation activation, T* dst);

// What the gradient reads besides d_dst and src: where dst > 0 the gradient passes. `dst` is read, or, when
// it is null and beta is not, computed again, which saves a pass over memory.
template <typename T>
struct BatchNormGradient {
  const T *d_dst, *src, *dst;
  const float *gamma, *beta, *mean, *inverse;
};

template <typename T>
void batch_norm_gradient_sums(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                              float* d_gamma, float* d_beta, const ChannelSumsWorkspace& workspace);
// Behind it.
template <typename T>
void batch_norm_gradient_apply(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                               const ChannelSumsWorkspace& workspace, T* d_src);

}  // namespace trainyard::backend::cuda::device
