#include "backend/cuda/pool/pool_kernels.h"

#include "backend/cuda/pool/pool.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// Taps of a window that begins at `start` which lie inside 0 .. size - 1: from `begin` to before `end`.
struct Taps {
  __device__ Taps(int start, int kernel, int dilation, int size)
      : begin(start >= 0 ? 0 : (-start + dilation - 1) / dilation),
        end(min(kernel, (size - start + dilation - 1) / dilation)) {}
  __device__ int count() const { return end - begin; }

  int begin, end;
};

__device__ inline Taps rows_of(const Pool& pool, int window) {
  return {window * pool.stride_h - pool.pad_top, pool.kernel_h, pool.dilation_h, pool.src_h};
}
__device__ inline Taps columns_of(const Pool& pool, int window) {
  return {window * pool.stride_w - pool.pad_left, pool.kernel_w, pool.dilation_w, pool.src_w};
}

__device__ inline float divisor_at(const Pool& pool, bool count_padding, int y, int x) {
  const int taps =
      count_padding ? pool.kernel_h * pool.kernel_w : rows_of(pool, y).count() * columns_of(pool, x).count();
  return static_cast<float>(taps);
}

template <int kWidth, typename T>
__device__ inline void add_channels(const T* from, float factor, float (&sums)[kWidth]) {
  const auto taken = load_channels<kWidth>(from);
#pragma unroll
  for (int c = 0; c < kWidth; ++c) sums[c] += factor * to_float(taken.at[c]);
}

template <int kWidth, typename T>
__device__ inline void store_scaled(T* to, const float (&sums)[kWidth], float divisor) {
  Vector<T, kWidth> made;
#pragma unroll
  for (int c = 0; c < kWidth; ++c) made.at[c] = from_float<T>(sums[c] / divisor);
  store_channels<kWidth>(to, made);
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    average_windows(Pool pool, bool count_padding, PoolPlaces places, const T* src, T* dst) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    const int top = at.row * pool.stride_h - pool.pad_top, left = at.column * pool.stride_w - pool.pad_left;
    const Taps rows = rows_of(pool, at.row), columns = columns_of(pool, at.column);
    float sums[kWidth] = {};
    for (int ky = rows.begin; ky < rows.end; ++ky)
      for (int kx = columns.begin; kx < columns.end; ++kx)
        add_channels<kWidth>(src + at.offset(pool.src_h, pool.src_w, top + ky * pool.dilation_h,
                                             left + kx * pool.dilation_w, pool.channels),
                             1.0f, sums);
    store_scaled<kWidth>(dst + at.offset(pool.dst_h, pool.dst_w, at.row, at.column, pool.channels), sums,
                         divisor_at(pool, count_padding, at.row, at.column));
  }
}

constexpr int kSlices = 8;  // warps that share the pixels of one image

// One window over the whole image: a block has 32 vectors of channels and divides the pixels among its warps.
template <typename T, int kWidth>
__global__ void __launch_bounds__(32 * kSlices)
    average_images(Pool pool, std::int64_t vectors_of_all, const T* src, T* dst) {
  __shared__ float shared[kSlices][32][kWidth];
  const int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  const int vectors = pool.channels / kWidth, pixels = pool.src_h * pool.src_w;
  const std::int64_t image = vector / vectors, channel = vector % vectors * kWidth;
  float sums[kWidth] = {};
  if (vector < vectors_of_all) {
#pragma unroll 4
    for (int pixel = slice; pixel < pixels; pixel += kSlices)
      add_channels<kWidth>(src + (image * pixels + pixel) * pool.channels + channel, 1.0f, sums);
  }
#pragma unroll
  for (int c = 0; c < kWidth; ++c) shared[slice][lane][c] = sums[c];
  __syncthreads();
  if (slice > 0 || vector >= vectors_of_all) return;
  for (int other = 1; other < kSlices; ++other)
#pragma unroll
    for (int c = 0; c < kWidth; ++c) sums[c] += shared[other][lane][c];
  store_scaled<kWidth>(dst + image * pool.channels + channel, sums, static_cast<float>(pixels));
}

// Each pixel asks the windows that cover it.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gather_pixels(Pool pool, bool count_padding, PoolPlaces places, const T* d_dst, T* d_src) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    const CoveringWindows rows(at.row, pool.kernel_h, pool.stride_h, pool.dilation_h, pool.pad_top,
                               pool.dst_h);
    const CoveringWindows columns(at.column, pool.kernel_w, pool.stride_w, pool.dilation_w, pool.pad_left,
                                  pool.dst_w);
    float sums[kWidth] = {};
    for (int y = rows.first; y <= rows.last; ++y)
      for (int x = columns.first; x <= columns.last; ++x)
        if (rows.hits(y) && columns.hits(x))
          add_channels<kWidth>(d_dst + at.offset(pool.dst_h, pool.dst_w, y, x, pool.channels),
                               1 / divisor_at(pool, count_padding, y, x), sums);
    store_scaled<kWidth>(d_src + at.offset(pool.src_h, pool.src_w, at.row, at.column, pool.channels), sums,
                         1.0f);
  }
}

bool is_global(const Pool& pool) {
  return pool.dst_h == 1 && pool.dst_w == 1 && pool.kernel_h == pool.src_h && pool.kernel_w == pool.src_w &&
         pool.dilation_h == 1 && pool.dilation_w == 1 && pool.pad_top == 0 && pool.pad_left == 0;
}

}  // namespace

template <typename T>
void average_pool(cudaStream_t stream, const Pool& pool, bool count_padding, const T* src, T* dst) {
  with_channel_width<T>(pool.channels, [&]<int kWidth>() {
    if (is_global(pool)) {
      const std::int64_t vectors = pool.dst_elements() / kWidth;
      average_images<T, kWidth>
          <<<static_cast<int>((vectors + 31) / 32), 32 * kSlices, 0, stream>>>(pool, vectors, src, dst);
    } else {
      const PoolPlaces places(pool, pool.dst_h, pool.dst_w, kWidth);
      average_windows<T, kWidth>
          <<<grid_for(places.count()), kThreads, 0, stream>>>(pool, count_padding, places, src, dst);
    }
  });
  check_launch("average_pool");
}

template <typename T>
void average_pool_d_src(cudaStream_t stream, const Pool& pool, bool count_padding, const T* d_dst, T* d_src) {
  with_channel_width<T>(pool.channels, [&]<int kWidth>() {
    const PoolPlaces places(pool, pool.src_h, pool.src_w, kWidth);
    gather_pixels<T, kWidth>
        <<<grid_for(places.count()), kThreads, 0, stream>>>(pool, count_padding, places, d_dst, d_src);
  });
  check_launch("average_pool_d_src");
}

template void average_pool(cudaStream_t, const Pool&, bool, const float*, float*);
template void average_pool(cudaStream_t, const Pool&, bool, const bf16*, bf16*);
template void average_pool_d_src(cudaStream_t, const Pool&, bool, const float*, float*);
template void average_pool_d_src(cudaStream_t, const Pool&, bool, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
