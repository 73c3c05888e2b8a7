#include "backend/cuda/pool/pool.cuh"
#include "backend/cuda/pool/pool_kernels.h"

namespace trainyard::backend::cuda::device {
namespace {

// kWidth neighbouring channels of a pixel of the larger images; the place of their pixel in the smaller ones.
template <int kWidth>
__device__ inline std::int64_t small_offset(const Upsample& images, std::int64_t vector) {
  const std::int64_t vectors = images.channels / kWidth, pixel = vector / vectors,
                     columns = images.width * images.factor, row = pixel / columns;
  // Rows of all images count on, and each is as often in the larger ones.
  return ((row / images.factor) * images.width + pixel % columns / images.factor) * images.channels +
         vector % vectors * kWidth;
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    copy_to_squares(Upsample images, std::int64_t vectors, const T* src, T* dst) {
  for (std::int64_t i = thread_index(); i < vectors; i += thread_count())
    store_channels<kWidth>(dst + i * kWidth, load_channels<kWidth>(src + small_offset<kWidth>(images, i)));
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_up_squares(Upsample images, std::int64_t vectors, const T* d_dst, T* d_src) {
  for (std::int64_t i = thread_index(); i < vectors; i += thread_count()) {
    const std::int64_t of_pixel = images.channels / kWidth, pixel = i / of_pixel, row = pixel / images.width,
                       columns = images.width * images.factor;
    const T* from = d_dst +
                    (row * images.factor * columns + pixel % images.width * images.factor) * images.channels +
                    i % of_pixel * kWidth;
    float sums[kWidth] = {};
    for (std::int64_t y = 0; y < images.factor; ++y)
      for (std::int64_t x = 0; x < images.factor; ++x) {
        const auto taken = load_channels<kWidth>(from + (y * columns + x) * images.channels);
#pragma unroll
        for (int c = 0; c < kWidth; ++c) sums[c] += to_float(taken.at[c]);
      }
    Vector<T, kWidth> made;
#pragma unroll
    for (int c = 0; c < kWidth; ++c) made.at[c] = from_float<T>(sums[c]);
    store_channels<kWidth>(d_src + i * kWidth, made);
  }
}

}  // namespace

template <typename T>
void upsample(cudaStream_t stream, const Upsample& images, const T* src, T* dst) {
  with_channel_width<T>(static_cast<int>(images.channels), [&]<int kWidth>() {
    const std::int64_t vectors = images.large_elements() / kWidth;
    copy_to_squares<T, kWidth><<<grid_for(vectors), kThreads, 0, stream>>>(images, vectors, src, dst);
  });
  check_launch("upsample");
}

template <typename T>
void upsample_d_src(cudaStream_t stream, const Upsample& images, const T* d_dst, T* d_src) {
  with_channel_width<T>(static_cast<int>(images.channels), [&]<int kWidth>() {
    const std::int64_t vectors = images.small_elements() / kWidth;
    add_up_squares<T, kWidth><<<grid_for(vectors), kThreads, 0, stream>>>(images, vectors, d_dst, d_src);
  });
  check_launch("upsample_d_src");
}

template void upsample(cudaStream_t, const Upsample&, const float*, float*);
template void upsample(cudaStream_t, const Upsample&, const bf16*, bf16*);
template void upsample_d_src(cudaStream_t, const Upsample&, const float*, float*);
template void upsample_d_src(cudaStream_t, const Upsample&, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
