#pragma once

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// The sizes of one convolution; all its tensors lie channels last.
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

}  // namespace trainyard::backend::cuda::device
