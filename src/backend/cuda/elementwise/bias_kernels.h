#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/elementwise/elementwise_kernels.h"

namespace trainyard::backend::cuda::device {

// In place y[row, c] = activation(y[row, c] + bias[c]); bias may be null. T: float or __nv_bfloat16.
template <typename T>
void bias_activation(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
                     std::int64_t channels);

// sums[c] = sum over rows of src[row, c], in f32 and in an order that depends only on the sizes.
// T: float or __nv_bfloat16.
template <typename T>
void channel_sum(cudaStream_t stream, const T* src, float* sums, std::int64_t rows, std::int64_t channels);

// Images of a few channels, each at its stride in elements, so that any order of axes will do.
struct FewChannelImages {
  std::int64_t images, pixels, channels;
  std::int64_t image_stride, pixel_stride, channel_stride;
};

// dst has `padded` channels, 4 or 8, which lie last; the new ones are zero. T: float or __nv_bfloat16.
template <typename T>
void pad_channels(cudaStream_t stream, const FewChannelImages& from, const T* src, int padded, T* dst);
// Back: the first `channels` of `padded` in each of `pixels`, channels last on both sides.
template <typename T>
void strip_channels(cudaStream_t stream, const T* src, int padded, T* dst, int channels, std::int64_t pixels);

}  // namespace trainyard::backend::cuda::device
