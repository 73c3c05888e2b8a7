#include "backend/cuda/pool/pool.cuh"
#include "backend/cuda/pool/pool_kernels.h"

namespace trainyard::backend::cuda::device {
namespace {

// Images lie channels last: neighbouring threads have neighbouring channels of a pixel.
template <typename T>
__global__ void __launch_bounds__(kThreads) resize_pixels(Resize images, const T* src, T* dst) {
  const std::int64_t elements = images.count * images.rows.to * images.columns.to * images.channels;
  for (std::int64_t i = thread_index(); i < elements; i += thread_count()) {
    const std::int64_t channel = i % images.channels, pixel = i / images.channels;
    const std::int64_t w = pixel % images.columns.to, h = pixel / images.columns.to % images.rows.to,
                       n = pixel / images.columns.to / images.rows.to;
    const ops::ResizeTap row = ops::resize_tap(images.rows, h), column = ops::resize_tap(images.columns, w);
    const auto at = [&](std::int64_t y, std::int64_t x) {
      return to_float(
          src[((n * images.rows.from + y) * images.columns.from + x) * images.channels + channel]);
    };
    const float above =
        (1 - column.share) * at(row.first, column.first) + column.share * at(row.first, column.second);
    const float below =
        (1 - column.share) * at(row.second, column.first) + column.share * at(row.second, column.second);
    dst[i] = from_float<T>((1 - row.share) * above + row.share * below);
  }
}

// Each thread sums for one number of the source all that took something of it, in their order.
template <typename T>
__global__ void __launch_bounds__(kThreads) sum_taken(Resize images, const T* d_dst, T* d_src) {
  const std::int64_t elements = images.count * images.rows.from * images.columns.from * images.channels;
  for (std::int64_t i = thread_index(); i < elements; i += thread_count()) {
    const std::int64_t channel = i % images.channels, pixel = i / images.channels;
    const std::int64_t x = pixel % images.columns.from, y = pixel / images.columns.from % images.rows.from,
                       n = pixel / images.columns.from / images.rows.from;
    const ops::ResizeReach rows = ops::resize_reach(images.rows, y),
                           columns = ops::resize_reach(images.columns, x);
    float sum = 0;
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      const float down = ops::resize_weight(ops::resize_tap(images.rows, h), y);
      if (down == 0) continue;
      for (std::int64_t w = columns.begin; w < columns.end; ++w) {
        const float weight = down * ops::resize_weight(ops::resize_tap(images.columns, w), x);
        if (weight != 0)
          sum +=
              weight *
              to_float(d_dst[((n * images.rows.to + h) * images.columns.to + w) * images.channels + channel]);
      }
    }
    d_src[i] = from_float<T>(sum);
  }
}

}  // namespace

template <typename T>
void resize(cudaStream_t stream, const Resize& images, const T* src, T* dst) {
  const std::int64_t elements = images.count * images.rows.to * images.columns.to * images.channels;
  if (elements == 0) return;
  resize_pixels<<<grid_for(static_cast<std::size_t>(elements)), kThreads, 0, stream>>>(images, src, dst);
  check_launch("resize");
}

template <typename T>
void resize_d_src(cudaStream_t stream, const Resize& images, const T* d_dst, T* d_src) {
  const std::int64_t elements = images.count * images.rows.from * images.columns.from * images.channels;
  if (elements == 0) return;
  sum_taken<<<grid_for(static_cast<std::size_t>(elements)), kThreads, 0, stream>>>(images, d_dst, d_src);
  check_launch("resize_d_src");
}

template void resize(cudaStream_t, const Resize&, const float*, float*);
template void resize(cudaStream_t, const Resize&, const bf16*, bf16*);
template void resize_d_src(cudaStream_t, const Resize&, const float*, float*);
template void resize_d_src(cudaStream_t, const Resize&, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
