#include "backend/cuda/device/pad_channels.h"

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// One thread a pixel.
template <typename T, int kPadded>
__global__ void pad(FewChannelImages from, const T* __restrict__ src, T* dst) {
  const std::int64_t count = from.images * from.pixels;
  for (auto i = static_cast<std::int64_t>(thread_index()); i < count;
       i += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t image = i / from.pixels, pixel = i - image * from.pixels;
    const T* at = src + image * from.image_stride + pixel * from.pixel_stride;
    Vector<T, kPadded> made;
#pragma unroll
    for (int c = 0; c < kPadded; ++c)
      made.at[c] = c < from.channels ? at[c * from.channel_stride] : from_float<T>(0.0f);
    reinterpret_cast<Vector<T, kPadded>*>(dst)[i] = made;
  }
}

template <typename T>
__global__ void strip(const T* src, int padded, T* dst, int channels, std::int64_t pixels) {
  for (auto i = static_cast<std::int64_t>(thread_index()); i < pixels * channels;
       i += static_cast<std::int64_t>(thread_count()))
    dst[i] = src[i / channels * padded + i % channels];
}

}  // namespace

template <typename T>
void pad_channels(cudaStream_t stream, const FewChannelImages& from, const T* src, int padded, T* dst) {
  const int blocks = grid_for(static_cast<std::size_t>(from.images * from.pixels));
  if (padded == 4)
    pad<T, 4><<<blocks, kThreads, 0, stream>>>(from, src, dst);
  else
    pad<T, 8><<<blocks, kThreads, 0, stream>>>(from, src, dst);
  check_launch("pad_channels");
}

template <typename T>
void strip_channels(cudaStream_t stream, const T* src, int padded, T* dst, int channels,
                    std::int64_t pixels) {
  const int blocks = grid_for(static_cast<std::size_t>(pixels * channels));
  strip<<<blocks, kThreads, 0, stream>>>(src, padded, dst, channels, pixels);
  check_launch("strip_channels");
}

template void pad_channels(cudaStream_t, const FewChannelImages&, const float*, int, float*);
template void pad_channels(cudaStream_t, const FewChannelImages&, const bf16*, int, bf16*);
template void strip_channels(cudaStream_t, const float*, int, float*, int, std::int64_t);
template void strip_channels(cudaStream_t, const bf16*, int, bf16*, int, std::int64_t);

}  // namespace trainyard::backend::cuda::device
