#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

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
