#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "ops/resize_values.h"

namespace trainyard::backend::cuda::device {

// A pooling window and the images it goes over, channels last.
struct Pool {
  int images, channels, src_h, src_w, dst_h, dst_w;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;

  std::int64_t dst_elements() const { return std::int64_t{images} * dst_h * dst_w * channels; }
};

// T: float or __nv_bfloat16.
template <typename T>
void max_pool(cudaStream_t stream, const Pool& pool, const T* src, T* dst, std::uint8_t* choice);
// `dst` null: no mask.
template <typename T>
void max_pool_d_src(cudaStream_t stream, const Pool& pool, const T* d_dst, const std::uint8_t* choice,
                    const T* dst, T* d_src);

// T: float or __nv_bfloat16. `count_padding`: see ops::AveragePoolAttrs.
template <typename T>
void average_pool(cudaStream_t stream, const Pool& pool, bool count_padding, const T* src, T* dst);
template <typename T>
void average_pool_d_src(cudaStream_t stream, const Pool& pool, bool count_padding, const T* d_dst, T* d_src);

// Images of height x width pixels, channels last, and those that are `factor` times as high and wide.
struct Upsample {
  std::int64_t images, height, width, channels, factor;

  std::int64_t small_elements() const { return images * height * width * channels; }
  std::int64_t large_elements() const { return small_elements() * factor * factor; }
};

// T: float or __nv_bfloat16.
template <typename T>
void upsample(cudaStream_t stream, const Upsample& images, const T* src, T* dst);
template <typename T>
void upsample_d_src(cudaStream_t stream, const Upsample& images, const T* d_dst, T* d_src);

// ops::resize_op on images that lie channels last.
struct Resize {
  std::int64_t count, channels;  // count: of images
  ops::ResizeAxis rows, columns;
};

// T: float or __nv_bfloat16.
template <typename T>
void resize(cudaStream_t stream, const Resize& images, const T* src, T* dst);
template <typename T>
void resize_d_src(cudaStream_t stream, const Resize& images, const T* d_dst, T* d_src);

}  // namespace trainyard::backend::cuda::device
