#include "backend/cuda/device/channel_sum.h"

#include <cooperative_groups.h>

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
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

}  // namespace trainyard::backend::cuda::device
