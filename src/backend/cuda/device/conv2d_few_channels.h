#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// A first layer: a convolution with stride 1 over images of 1 or 3 channels, then a max pool with stride 2
// that has no padding above or left. Images lie plain, weights and outputs channels last.
struct FewChannels {
  int batch, channels, height, width;
  int outputs;  // a multiple of 32
  int kernel, pad_top, pad_left;
  int pool;  // 2 or 3
  int convolved_h, convolved_w, pooled_h, pooled_w;

  static bool has(int channels, int kernel, int pool);  // is there a kernel for these?
  bool has_matrix(bool rounded) const;                  // one on the matrix units, for bf16 or for tf32?
  // Pairs of columns that the pool needs, with what the convolution reads around them.
  constexpr int strip_width() const { return 2 * (pooled_w + pool - 2) + kernel - 1; }
};

// Images may be f32 where weights and outputs are bf16.
template <typename Source, typename T>
void conv2d_max_pool_few_channels(cudaStream_t stream, const FewChannels& sizes, const Source* src,
                                  const T* weight, const float* bias, Activation activation, T* dst,
                                  std::uint8_t* choice);

// On the matrix units; f32 is rounded to tf32.
template <typename Source, typename T>
void conv2d_max_pool_few_channels_matrix(cudaStream_t stream, const FewChannels& sizes, int multiprocessors,
                                         const Source* src, const T* weight, const float* bias,
                                         Activation activation, T* dst, std::uint8_t* choice);

// d_bias and dst may be null: not wanted, no mask. The workspace holds the sums of single blocks.
std::size_t conv2d_max_pool_d_weight_workspace(const FewChannels& sizes, int multiprocessors);
template <typename T>
void conv2d_max_pool_d_weight_few_channels(cudaStream_t stream, const FewChannels& sizes, int multiprocessors,
                                           const T* d_dst, const std::uint8_t* choice, const T* src,
                                           const T* dst, float* workspace, T* d_weight, float* d_bias);

template <typename T>
void conv2d_max_pool_d_weight_few_channels_matrix(cudaStream_t stream, const FewChannels& sizes,
                                                  int multiprocessors, const T* d_dst,
                                                  const std::uint8_t* choice, const T* src, const T* dst,
                                                  float* workspace, T* d_weight, float* d_bias);

// At most so many blocks sum.
int few_channels_d_weight_blocks(const FewChannels& sizes, int multiprocessors);
// Both sum so over blocks: the workspace has for each of them, one behind the other, a row of outputs for
// every weight and one for the bias.
template <typename T>
void add_first_layer_blocks(cudaStream_t stream, const FewChannels& sizes, int blocks, const float* workspace,
                            T* d_weight, float* d_bias);

}  // namespace trainyard::backend::cuda::device
