#include "backend/cuda/elementwise/elementwise_kernels.h"

#include <cooperative_groups.h>

#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// `width`: vectors in a row.
template <typename T, int kWidth>
__global__ void add_and_activate(Activation activation, const float* __restrict__ bias, Vector<T, kWidth>* y,
                                 std::int64_t vectors, std::int64_t width) {
  const auto first = static_cast<std::int64_t>(thread_index()),
             stride = static_cast<std::int64_t>(thread_count());
  const std::int64_t shift = stride % width;
  std::int64_t column = first % width;
  for (std::int64_t v = first; v < vectors; v += stride) {
    Vector<T, kWidth> x = y[v];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float added = bias == nullptr ? 0.0f : bias[column * kWidth + i];
      x.at[i] = from_float<T>(activate(activation, to_float(x.at[i]) + added));
    }
    y[v] = x;
    column += shift;
    if (column >= width) column -= width;
  }
}

template <typename T, int kWidth>
void start(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
           std::int64_t channels) {
  const std::int64_t width = channels / kWidth, vectors = rows * width;
  add_and_activate<T, kWidth><<<grid_for(static_cast<std::size_t>(vectors)), kThreads, 0, stream>>>(
      activation, bias, reinterpret_cast<Vector<T, kWidth>*>(y), vectors, width);
}

}  // namespace

template <typename T>
void bias_activation(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
                     std::int64_t channels) {
  if (rows * channels == 0) return;
  constexpr int kWidth = 16 / sizeof(T);
  if (channels % kWidth == 0)
    start<T, kWidth>(stream, activation, bias, y, rows, channels);
  else if (channels % 2 == 0)
    start<T, 2>(stream, activation, bias, y, rows, channels);
  else
    start<T, 1>(stream, activation, bias, y, rows, channels);
  check_launch("bias_activation");
}

template void bias_activation(cudaStream_t, Activation, const float*, float*, std::int64_t, std::int64_t);
template void bias_activation(cudaStream_t, Activation, const float*, bf16*, std::int64_t, std::int64_t);

namespace {

namespace cg = cooperative_groups;

constexpr int kCluster = 8, kClusterThreads = 512;

// A cluster sums `tile` neighbouring vectors of every row: each block takes every eighth group of rows, then
// the first block adds what the others have in their shared memory. tile is a power of 2.
template <typename T, int kWidth>
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kClusterThreads)
    sum_rows(const Vector<T, kWidth>* __restrict__ src, float* sums, std::int64_t rows, std::int64_t width,
             int tile) {
  __shared__ float partial[kClusterThreads * kWidth];
  const int lane = threadIdx.x % tile, group = threadIdx.x / tile, groups = kClusterThreads / tile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * tile + lane;
  float sum[kWidth] = {};
  if (column < width) {
    const std::int64_t stride = static_cast<std::int64_t>(groups) * kCluster;
#pragma unroll 4
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * groups + group; row < rows;
         row += stride) {
      const Vector<T, kWidth> x = src[row * width + column];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sum[i] += to_float(x.at[i]);
    }
  }
  // Element i of thread t lies at i * kClusterThreads + t, so that neighbours meet no bank twice.
#pragma unroll
  for (int i = 0; i < kWidth; ++i) partial[i * kClusterThreads + threadIdx.x] = sum[i];
  for (int half = groups / 2; half > 0; half /= 2) {
    __syncthreads();
    if (group < half)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        partial[i * kClusterThreads + threadIdx.x] +=
            partial[i * kClusterThreads + threadIdx.x + half * tile];
  }
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  if (blockIdx.x == 0 && group == 0 && column < width) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      float total = 0;
      for (int block = 0; block < kCluster; ++block)
        total += cluster.map_shared_rank(partial, block)[i * kClusterThreads + lane];
      sums[column * kWidth + i] = total;
    }
  }
  cluster.sync();  // shared memory must outlive its readers
}

template <typename T, int kWidth>
void start(cudaStream_t stream, const T* src, float* sums, std::int64_t rows, std::int64_t channels) {
  const std::int64_t width = channels / kWidth;
  int tile = 1;  // wide tiles read whole sectors, narrow ones make more blocks
  while (tile < 8 && width / (2 * tile) * kCluster >= 128) tile *= 2;
  const dim3 grid(kCluster, static_cast<unsigned>((width + tile - 1) / tile));
  sum_rows<T, kWidth><<<grid, kClusterThreads, 0, stream>>>(reinterpret_cast<const Vector<T, kWidth>*>(src),
                                                            sums, rows, width, tile);
}

}  // namespace

template <typename T>
void channel_sum(cudaStream_t stream, const T* src, float* sums, std::int64_t rows, std::int64_t channels) {
  if (channels == 0) return;
  constexpr int kWidth = 16 / sizeof(T);
  if (channels % kWidth == 0)
    start<T, kWidth>(stream, src, sums, rows, channels);
  else if (channels % 2 == 0)
    start<T, 2>(stream, src, sums, rows, channels);
  else
    start<T, 1>(stream, src, sums, rows, channels);
  check_launch("channel_sum");
}

template void channel_sum(cudaStream_t, const float*, float*, std::int64_t, std::int64_t);
template void channel_sum(cudaStream_t, const bf16*, float*, std::int64_t, std::int64_t);

namespace {

// One thread takes one pixel.
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
