#pragma once

#include <type_traits>

#include "backend/cuda/pool/pool_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/walk.h"

namespace trainyard::backend::cuda::device {

// A PoolPlace is a thread's place: kWidth neighbouring channels of one pixel. Counted channels first, then
// columns, rows and images, so that neighbouring threads touch neighbouring bytes.
struct PoolPlace {
  int image, row, column, channel;

  // Returns the offset of a pixel's first element in images of h x w pixels.
  __device__ std::int64_t offset(int h, int w, int y, int x, int channels) const {
    return ((static_cast<std::int64_t>(image) * h + y) * w + x) * channels + channel;
  }
};

class PoolPlaces {
 public:
  PoolPlaces(const Pool& pool, int rows, int columns, int width)
      : width_(width),
        groups_(static_cast<std::uint32_t>(pool.channels / width)),
        columns_(static_cast<std::uint32_t>(columns)),
        rows_(static_cast<std::uint32_t>(rows)),
        count_(static_cast<std::uint32_t>(pool.images) * rows_.divisor * columns_.divisor * groups_.divisor) {
  }

  __host__ __device__ std::uint32_t count() const { return count_; }
  __device__ PoolPlace operator[](std::uint32_t i) const {
    const std::uint32_t pixel = groups_.quotient(i), line = columns_.quotient(pixel);
    const std::uint32_t image = rows_.quotient(line);
    return {static_cast<int>(image), static_cast<int>(line - image * rows_.divisor),
            static_cast<int>(pixel - line * columns_.divisor),
            static_cast<int>(i - pixel * groups_.divisor) * width_};
  }

 private:
  int width_;
  Divisor groups_, columns_, rows_;
  std::uint32_t count_;
};

// Calls start.operator()<kWidth>(): channels in vectors of 16 bytes, or one by one.
template <typename T, typename Start>
void with_channel_width(int channels, const Start& start) {
  constexpr int kFull = 16 / sizeof(T);
  if (channels % kFull == 0)
    start.template operator()<kFull>();
  else
    start.template operator()<1>();
}

template <int kWidth, typename T>
__device__ inline Vector<T, kWidth> load_channels(const T* from) {
  return *reinterpret_cast<const Vector<T, kWidth>*>(from);
}
template <int kWidth, typename T>
__device__ inline void store_channels(T* to, const Vector<T, kWidth>& channels) {
  *reinterpret_cast<Vector<T, kWidth>*>(to) = channels;
}

// CoveringWindows holds the windows along one axis that cover a pixel: window w does so with its tap
// `tap(w)`, where there is one.
struct CoveringWindows {
  __device__ CoveringWindows(int pixel, int kernel, int stride, int dilation, int pad, int windows)
      : from_start(pixel + pad), stride(stride), dilation(dilation) {
    const int before = from_start - (kernel - 1) * dilation;  // begin of the first that can reach it
    first = before <= 0 ? 0 : (before + stride - 1) / stride;
    last = min(from_start / stride, windows - 1);
  }
  __device__ bool hits(int window) const { return (from_start - window * stride) % dilation == 0; }
  __device__ int tap(int window) const { return (from_start - window * stride) / dilation; }

  int from_start, stride, dilation, first, last;
};

}  // namespace trainyard::backend::cuda::device
