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

// The numbers of a batch whose statistics were found before.
struct BatchNormGiven {
  const float *gamma, *beta, *mean, *inverse;
};
void batch_norm_given(cudaStream_t stream, const ChannelSums& sums, const BatchNormGiven& scales,
                      const ChannelSumsWorkspace& workspace);

// Runs after one of the three above: dst = act(gamma * (src - mean) * inverse + beta [+ residual]); residual
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

// The vectors of ops::layer_norm_op: gamma and beta have a number for each channel, inverse and mean for each
// row. RMS norm has neither beta nor mean: they are null.
struct LayerNormVectors {
  const float *gamma, *beta;
  float *inverse, *mean;
};

// T: float or __nv_bfloat16. dst may be src.
template <typename T>
void layer_norm(cudaStream_t stream, std::int64_t rows, std::int64_t channels, float epsilon, const T* src,
                const LayerNormVectors& vectors, T* dst);

// The inputs of ops::layer_norm_grad_op; mean is null for RMS norm.
template <typename D, typename T>
struct LayerNormGradient {
  const D* d_dst;
  const T* src;
  const float *gamma, *inverse, *mean;
};

// Says how the blocks of the gradient share the rows.
struct LayerNormPasses {
  static constexpr int kMostThreads = 1024, kGoodThreads = 256;

  // width: channels of 16 bytes of the wider one of both tensors.
  LayerNormPasses(std::int64_t rows, std::int64_t channels, int width, int multiprocessors);

  std::size_t part_bytes() const {
    return static_cast<std::size_t>(blocks) * 2 * static_cast<std::size_t>(channels) * sizeof(float);
  }

  std::int64_t rows, channels;
  int width, lanes = 1, threads = 0;  // lanes: threads of a row
  int blocks = 0;                     // 0: rows are too long or odd, and simple loops do the work
};

// D and T: float or __nv_bfloat16. `parts` holds part_bytes(). d_beta may be null. d_src may be d_dst.
template <typename D, typename T>
void layer_norm_grad(cudaStream_t stream, const LayerNormPasses& passes, const LayerNormGradient<D, T>& at,
                     float* parts, T* d_src, float* d_gamma, float* d_beta);

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
