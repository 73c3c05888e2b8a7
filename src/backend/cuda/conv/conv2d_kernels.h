#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/pool/pool_kernels.h"

namespace trainyard::backend::cuda::device {

// A FewChannels is a first layer: a convolution with stride 1 over images of 1 or 3 channels, then a max pool
// with stride 2 that has no padding above or left. Images lie plain, weights and outputs channels last.
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

// PlainConvolution holds the sizes of one convolution; all its tensors lie channels last.
struct PlainConvolution {
  std::int64_t batch, channels, height, width;  // src
  std::int64_t outputs, rows, columns;          // dst
  std::int64_t depth, group_outputs;            // channels and outputs of one group
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
};

// Simple loops for any window and any groups. bias may be null. T: float or __nv_bfloat16.
template <typename T>
void conv2d_plain(cudaStream_t stream, const PlainConvolution& sizes, const T* src, const T* weight,
                  const float* bias, Activation activation, T* dst);
template <typename T>
void conv2d_d_src_plain(cudaStream_t stream, const PlainConvolution& sizes, const T* d_dst, const T* weight,
                        T* d_src);
template <typename T>
void conv2d_d_weight_plain(cudaStream_t stream, const PlainConvolution& sizes, const T* d_dst, const T* src,
                           T* d_weight);

// A SmallImages is a convolution with stride 1 over images so small that several rows with all their channels
// lie in shared memory, on the matrix units: bf16, or f32 rounded to tf32. Everything lies channels last.
// `channels` are summed over, `outputs` are made: the gradient of src is the same with both exchanged and the
// weights turned.
struct SmallImages {
  int batch, height, width, channels;
  int out_h, out_w, outputs;
  int kernel, pad_top, pad_left;
  std::size_t shared_limit = 0;  // bytes of shared memory that a block may have; for the decline_ functions

  // The reason why there is no kernel for these sizes; null: there is one.
  const char* decline_forward() const;  // bf16 only
  template <typename T>
  const char* decline_d_src() const;  // of the sizes as d_src has them
  template <typename T>
  const char* decline_d_weight() const;
};

// pool: 0, or 2 for a max pool of 2x2 with stride 2 behind the activation; then dst is pooled, and `choice`
// says where from. bias may be null.
void conv2d_small_images(cudaStream_t stream, const SmallImages& sizes, const void* src, const void* weight,
                         const float* bias, Activation activation, int pool, void* dst, std::uint8_t* choice);
// weight (channels, kernel, kernel, outputs): as the forward convolution has it, whose outputs are
// `channels`.
template <typename T>
void conv2d_d_src_small_images(cudaStream_t stream, const SmallImages& sizes, const T* d_dst, const T* weight,
                               T* d_src);

// d_dst (batch, out_h, out_w, outputs), src (batch, height, width, channels); d_bias may be null.
std::size_t conv2d_d_weight_small_images_workspace(const SmallImages& sizes, int multiprocessors);
template <typename T>
void conv2d_d_weight_small_images(cudaStream_t stream, const SmallImages& sizes, int multiprocessors,
                                  const T* d_dst, const T* src, float* workspace, T* d_weight, float* d_bias);

// dst, choice = the max pool of activation(src + bias); bias may be null. T: float or __nv_bfloat16.
template <typename T>
void bias_activation_pool(cudaStream_t stream, const Pool& pool, Activation activation, const float* bias,
                          const T* src, T* dst, std::uint8_t* choice);

}  // namespace trainyard::backend::cuda::device
