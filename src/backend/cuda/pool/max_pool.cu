#include "backend/cuda/pool/pool_kernels.h"

#include "backend/cuda/pool/pool.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// kKernel: both sides of the window, so that its loads are in flight together; 0: as the pool says.
template <typename T, int kWidth, int kKernel>
__global__ void __launch_bounds__(kThreads)
    max_pool_windows(Pool pool, PoolPlaces places, const T* src, T* dst, std::uint8_t* choice) {
  const int kernel_h = kKernel > 0 ? kKernel : pool.kernel_h;
  const int kernel_w = kKernel > 0 ? kKernel : pool.kernel_w;
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    const int top = at.row * pool.stride_h - pool.pad_top, left = at.column * pool.stride_w - pool.pad_left;
    Vector<T, kWidth> best;
    Vector<std::uint8_t, kWidth> from;
    bool found = false;
#pragma unroll
    for (int ky = 0; ky < kernel_h; ++ky) {
      const int y = top + ky * pool.dilation_h;
#pragma unroll
      for (int kx = 0; kx < kernel_w; ++kx) {
        const int x = left + kx * pool.dilation_w;
        if (y < 0 || y >= pool.src_h || x < 0 || x >= pool.src_w) continue;
        const auto taken =
            load_channels<kWidth>(src + at.offset(pool.src_h, pool.src_w, y, x, pool.channels));
        // Padding never wins, the first of equals does.
#pragma unroll
        for (int c = 0; c < kWidth; ++c)
          if (!found || to_float(taken.at[c]) > to_float(best.at[c])) {
            best.at[c] = taken.at[c];
            from.at[c] = static_cast<std::uint8_t>(ky * kernel_w + kx);
          }
        found = true;
      }
    }
    const std::int64_t to = at.offset(pool.dst_h, pool.dst_w, at.row, at.column, pool.channels);
    store_channels<kWidth>(dst + to, best);
    store_channels<kWidth>(choice + to, from);
  }
}

// The gradient that one window passes back, zero where its output was masked.
template <typename T, int kWidth>
struct WindowGradient {
  __device__ WindowGradient(const T* d_dst, const std::uint8_t* choice, const T* dst, std::int64_t at)
      : d_dst(load_channels<kWidth>(d_dst + at)), choice(load_channels<kWidth>(choice + at)) {
    if (dst == nullptr) return;
    const auto mask = load_channels<kWidth>(dst + at);
#pragma unroll
    for (int c = 0; c < kWidth; ++c)
      if (!(to_float(mask.at[c]) > 0)) this->d_dst.at[c] = from_float<T>(0.0f);
  }
  __device__ void add_to(float (&sums)[kWidth], int tap) const {
#pragma unroll
    for (int c = 0; c < kWidth; ++c) sums[c] += choice.at[c] == tap ? to_float(d_dst.at[c]) : 0.0f;
  }

  Vector<T, kWidth> d_dst;
  Vector<std::uint8_t, kWidth> choice;
};

template <typename T, int kWidth>
__device__ inline void store_sums(T* to, const float (&sums)[kWidth]) {
  Vector<T, kWidth> made;
#pragma unroll
  for (int c = 0; c < kWidth; ++c) made.at[c] = from_float<T>(sums[c]);
  store_channels<kWidth>(to, made);
}

// Any window: each pixel asks the windows that cover it.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gather_max_pixels(Pool pool, PoolPlaces places, const T* d_dst, const std::uint8_t* choice, const T* dst,
                      T* d_src) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    const CoveringWindows rows(at.row, pool.kernel_h, pool.stride_h, pool.dilation_h, pool.pad_top,
                               pool.dst_h);
    const CoveringWindows columns(at.column, pool.kernel_w, pool.stride_w, pool.dilation_w, pool.pad_left,
                                  pool.dst_w);
    float sums[kWidth] = {};
    for (int y = rows.first; y <= rows.last; ++y)
      for (int x = columns.first; x <= columns.last; ++x) {
        if (!rows.hits(y) || !columns.hits(x)) continue;
        const WindowGradient<T, kWidth> window(d_dst, choice, dst,
                                               at.offset(pool.dst_h, pool.dst_w, y, x, pool.channels));
        window.add_to(sums, rows.tap(y) * pool.kernel_w + columns.tap(x));
      }
    store_sums(d_src + at.offset(pool.src_h, pool.src_w, at.row, at.column, pool.channels), sums);
  }
}

// 2 x 2 windows side by side: each fills its own four pixels. Places are windows.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads) scatter_2x2(Pool pool, PoolPlaces places, const T* d_dst,
                                                        const std::uint8_t* choice, const T* dst, T* d_src) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    const WindowGradient<T, kWidth> window(
        d_dst, choice, dst, at.offset(pool.dst_h, pool.dst_w, at.row, at.column, pool.channels));
#pragma unroll
    for (int tap = 0; tap < 4; ++tap) {
      float sums[kWidth] = {};
      window.add_to(sums, tap);
      store_sums(d_src + at.offset(pool.src_h, pool.src_w, at.row * 2 + tap / 2, at.column * 2 + tap % 2,
                                   pool.channels),
                 sums);
    }
  }
}

// Takes 3 x 3 windows that are two apart. A place is the quad of pixels that begins where window (row,
// column) does: the window before reaches its first line with tap 2, its own one with taps 0 and 1.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gather_3x3_quads(Pool pool, PoolPlaces places, const T* d_dst, const std::uint8_t* choice, const T* dst,
                     T* d_src) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    float sums[2][2][kWidth] = {};
#pragma unroll
    for (int own = 0; own < 4; ++own) {
      const int own_y = own / 2, own_x = own % 2;
      const int y = at.row - 1 + own_y, x = at.column - 1 + own_x;
      if (y < 0 || y >= pool.dst_h || x < 0 || x >= pool.dst_w) continue;
      const WindowGradient<T, kWidth> window(d_dst, choice, dst,
                                             at.offset(pool.dst_h, pool.dst_w, y, x, pool.channels));
#pragma unroll
      for (int line = 0; line <= own_y; ++line)
#pragma unroll
        for (int column = 0; column <= own_x; ++column) {
          const int ky = own_y == 0 ? 2 : line, kx = own_x == 0 ? 2 : column;
          window.add_to(sums[line][column], ky * 3 + kx);
        }
    }
#pragma unroll
    for (int pixel = 0; pixel < 4; ++pixel) {
      const int y = at.row * 2 - pool.pad_top + pixel / 2, x = at.column * 2 - pool.pad_left + pixel % 2;
      if (y < 0 || y >= pool.src_h || x < 0 || x >= pool.src_w) continue;
      store_sums(d_src + at.offset(pool.src_h, pool.src_w, y, x, pool.channels), sums[pixel / 2][pixel % 2]);
    }
  }
}

bool is_square(const Pool& pool, int kernel, int stride) {
  return pool.kernel_h == kernel && pool.kernel_w == kernel && pool.stride_h == stride &&
         pool.stride_w == stride && pool.dilation_h == 1 && pool.dilation_w == 1;
}

}  // namespace

template <typename T>
void max_pool(cudaStream_t stream, const Pool& pool, const T* src, T* dst, std::uint8_t* choice) {
  with_channel_width<T>(pool.channels, [&]<int kWidth>() {
    const PoolPlaces places(pool, pool.dst_h, pool.dst_w, kWidth);
    const int blocks = grid_for(places.count());
    if (pool.kernel_h == 2 && pool.kernel_w == 2)
      max_pool_windows<T, kWidth, 2><<<blocks, kThreads, 0, stream>>>(pool, places, src, dst, choice);
    else if (pool.kernel_h == 3 && pool.kernel_w == 3)
      max_pool_windows<T, kWidth, 3><<<blocks, kThreads, 0, stream>>>(pool, places, src, dst, choice);
    else
      max_pool_windows<T, kWidth, 0><<<blocks, kThreads, 0, stream>>>(pool, places, src, dst, choice);
  });
  check_launch("max_pool");
}

template <typename T>
void max_pool_d_src(cudaStream_t stream, const Pool& pool, const T* d_dst, const std::uint8_t* choice,
                    const T* dst, T* d_src) {
  const bool covers =
      pool.pad_top == 0 && pool.pad_left == 0 && pool.src_h == 2 * pool.dst_h && pool.src_w == 2 * pool.dst_w;
  with_channel_width<T>(pool.channels, [&]<int kWidth>() {
    const auto start = [&](auto kernel, int rows, int columns) {
      const PoolPlaces places(pool, rows, columns, kWidth);
      kernel<<<grid_for(places.count()), kThreads, 0, stream>>>(pool, places, d_dst, choice, dst, d_src);
    };
    if (is_square(pool, 2, 2) && covers)
      start(scatter_2x2<T, kWidth>, pool.dst_h, pool.dst_w);
    else if (is_square(pool, 3, 2))
      start(gather_3x3_quads<T, kWidth>, (pool.src_h + pool.pad_top + 1) / 2,
            (pool.src_w + pool.pad_left + 1) / 2);
    else
      start(gather_max_pixels<T, kWidth>, pool.src_h, pool.src_w);
  });
  check_launch("max_pool_d_src");
}

template void max_pool(cudaStream_t, const Pool&, const float*, float*, std::uint8_t*);
template void max_pool(cudaStream_t, const Pool&, const bf16*, bf16*, std::uint8_t*);
template void max_pool_d_src(cudaStream_t, const Pool&, const float*, const std::uint8_t*, const float*,
                             float*);
template void max_pool_d_src(cudaStream_t, const Pool&, const bf16*, const std::uint8_t*, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
