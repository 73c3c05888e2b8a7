#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// How the rows (pixels of all images) and channels of a tensor that lies channels last are shared among
// blocks when something is summed over the rows.
struct ChannelSums {
  std::int64_t rows = 0, channels = 0;
  int row_blocks = 1, channel_blocks = 1;

  static constexpr int kChannelsPerBlock = 64;
  static constexpr int kSums = 2;  // per channel

  ChannelSums() = default;
  ChannelSums(std::int64_t rows, std::int64_t channels, int multiprocessors);

  // Partial sums; every block writes its own before anyone reads it.
  std::size_t workspace_bytes() const;
};

struct BatchNormScales {
  const float *gamma, *beta;
  float *running_mean, *running_variance;  // null: keep them
  float *mean, *inverse;                   // of this batch
  float epsilon, momentum;
};

// Sums over the rows, then mean, inverse deviation and running statistics. `done` counts blocks that have
// finished, one number for every channel block; zero before, and zero again after.
template <typename T>
void batch_norm_statistics(cudaStream_t stream, const ChannelSums& sums, const T* src,
                           const BatchNormScales& scales, float* partials, unsigned* done);

// For inference: mean and inverse deviation from the running statistics.
void batch_norm_running(cudaStream_t stream, std::int64_t channels, const float* running_mean,
                        const float* running_variance, float epsilon, float* mean, float* inverse);

// dst = act(gamma * (src - mean) * inverse + beta [+ residual]); residual may be null.
template <typename T>
void batch_norm_apply(cudaStream_t stream, std::int64_t rows, std::int64_t channels, const T* src,
                      const T* residual, const BatchNormScales& scales, Activation activation, T* dst);

// What the gradient reads besides d_dst and src: where dst > 0 the gradient passes. `dst` is read, or, when
// it is null and beta is not, computed again, which saves a pass over memory.
template <typename T>
struct BatchNormGradient {
  const T *d_dst, *src, *dst;
  const float *gamma, *beta, *mean, *inverse;
};

template <typename T>
void batch_norm_gradient_sums(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                              float* d_gamma, float* d_beta, float* partials, unsigned* done);
template <typename T>
void batch_norm_gradient_apply(cudaStream_t stream, std::int64_t rows, std::int64_t channels,
                               const BatchNormGradient<T>& at, const float* d_gamma, const float* d_beta,
                               T* d_src);

}  // namespace trainyard::backend::cuda::device
