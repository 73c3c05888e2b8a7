#pragma once

// RowGroup and its launcher give each row of a matrix to a warp, or to a whole block when the row is long.
// The passes below go over the rows of a tensor that lies channels last.

#include "backend/cuda/runtime/channel_sums.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

inline constexpr std::int64_t kLongRow = 1024;

__device__ inline float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, offset));
  return x;
}

// kGroup threads that share a row: 32 or kThreads. All threads of a block make the same calls.
template <int kGroup>
struct RowGroup {
  static constexpr int kRowsPerBlock = kThreads / kGroup;

  __device__ static int row_in_block() { return threadIdx.x / kGroup; }
  __device__ static int lane() { return threadIdx.x % kGroup; }

  __device__ static float sum(float x) {
    return reduce(warp_sum(x), 0.0f, [](float y) { return warp_sum(y); });
  }
  __device__ static float max(float x) {
    return reduce(warp_max(x), -INFINITY, [](float y) { return warp_max(y); });
  }

 private:
  template <typename Join>
  __device__ static float reduce(float of_warp, float nothing, const Join& join) {
    if constexpr (kGroup == 32) {
      return of_warp;
    } else {
      __shared__ float scratch[32];
      __syncthreads();  // the one before may still be read
      if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = of_warp;
      __syncthreads();
      return join(threadIdx.x % 32 < kThreads / 32 ? scratch[threadIdx.x % 32] : nothing);
    }
  }
};

// Calls start.operator()<kGroup>(blocks) with as many blocks as rows need.
template <typename Start>
void with_row_groups(std::int64_t rows, std::int64_t length, const Start& start) {
  const auto blocks = [&](std::int64_t per_block) {
    return static_cast<int>((rows + per_block - 1) / per_block);
  };
  if (length > kLongRow)
    start.template operator()<kThreads>(blocks(1));
  else
    start.template operator()<32>(blocks(RowGroup<32>::kRowsPerBlock));
}

// In a pass every thread keeps to kWidth neighbouring channels, so that their factors stay in registers, and
// has kAtOnce rows in flight.

// One large block on every multiprocessor: few partial sums for the last of them to add up.
inline constexpr int kSumThreads = 768, kSumWarps = kSumThreads / 32;
inline constexpr int kPassBlocks = 3;  // of kThreads, on every multiprocessor
inline constexpr int kSums = ChannelSums::kSums;

template <int kWidth>
inline constexpr int kMostChannels = kWidth* ChannelSums::kMostLanes;

template <int kWidth>
__device__ inline void load_floats(const float* from, float (&to)[kWidth]) {
  constexpr int kStep = kWidth < 4 ? 1 : 4;
#pragma unroll
  for (int i = 0; i < kWidth; i += kStep) {
    const auto four = *reinterpret_cast<const Vector<float, kStep>*>(from + i);
#pragma unroll
    for (int j = 0; j < kStep; ++j) to[i + j] = four.at[j];
  }
}

// Calls column.take(column.load(at), at) for the rows first, first + stride, ... where at = row * channels;
// backward, rows count from the last.
template <bool kBackward, typename Column>
__device__ inline void for_rows(std::int64_t first, std::int64_t stride, std::int64_t rows,
                                std::int64_t channels, Column& column) {
  constexpr int kAtOnce = Column::kAtOnce;
  std::int64_t row = first;
  const std::int64_t step = (kBackward ? -stride : stride) * channels;
  std::int64_t at = (kBackward ? rows - 1 - first : first) * channels;
  for (; row + (kAtOnce - 1) * stride < rows; row += kAtOnce * stride, at += kAtOnce * step) {
    typename Column::Loaded loaded[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) loaded[u] = column.load(at + u * step);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) column.take(loaded[u], at + u * step);
  }
  for (; row < rows; row += stride, at += step) column.take(column.load(at), at);
}

// All rows and channels: column_of(channel) makes what a thread needs to go through its channels.
template <int kWidth, typename ColumnOf>
__device__ void for_columns(std::int64_t rows, std::int64_t channels, const ColumnOf& column_of) {
  const std::int64_t vectors = channels / kWidth;
  const auto thread = static_cast<std::int64_t>(thread_index());
  const std::int64_t rows_at_once = static_cast<std::int64_t>(thread_count()) / vectors;
  if (thread >= rows_at_once * vectors) return;
  auto column = column_of(thread % vectors * kWidth);
  for_rows<false>(thread / vectors, rows_at_once, rows, channels, column);
}

// The sums of this block: rows of a warp first, then its warps, in a fixed order.
template <int kWidth>
__device__ inline void add_up_block(int lanes, float (&sums)[kSums][kWidth], float* of_block) {
  __shared__ float of_warp[kSumWarps][kSums][kMostChannels<kWidth>];
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / 32;
#pragma unroll
  for (int s = 0; s < kSums; ++s)
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      float x = sums[s][i];
      for (int offset = lanes; offset < 32; offset *= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, offset);
      if (threadIdx.x % 32 < lanes) of_warp[warp][s][lane * kWidth + i] = x;
    }
  __syncthreads();
  const int numbers = kSums * lanes * kWidth;
  if (threadIdx.x < numbers) {
    const int s = threadIdx.x / (lanes * kWidth), c = threadIdx.x % (lanes * kWidth);
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kSumWarps; ++w) sum += of_warp[w][s][c];
    of_block[threadIdx.x] = sum;
  }
}

// Sums over all rows: column_of(channel) makes an object whose `sums` grow with every take(). The last block
// of these channels calls finish(channel, sum 0, sum 1) once for every channel.
template <int kWidth, typename ColumnOf, typename Finish>
__device__ void sum_rows(const ChannelSums& sums, const ColumnOf& column_of, const Finish& finish,
                         const ChannelSumsWorkspace& workspace) {
  const int lanes = sums.lanes, together = lanes * kWidth, numbers = kSums * together;
  const int rows_of_block = kSumThreads / lanes;
  const std::int64_t first_channel = static_cast<std::int64_t>(blockIdx.y) * together;
  const std::int64_t channel = first_channel + threadIdx.x % lanes * kWidth;
  float totals[kSums][kWidth] = {};
  if (channel < sums.channels) {
    auto column = column_of(channel);
    // The pass goes from the last row to the first: the kernel that wrote the tensor left its end in the
    // cache, and the pass that follows finds its beginning there.
    for_rows<true>(static_cast<std::int64_t>(blockIdx.x) * rows_of_block + threadIdx.x / lanes,
                   static_cast<std::int64_t>(gridDim.x) * rows_of_block, sums.rows, sums.channels, column);
#pragma unroll
    for (int s = 0; s < kSums; ++s)
#pragma unroll
      for (int i = 0; i < kWidth; ++i) totals[s][i] = column.sums[s][i];
  }
  float* parts = workspace.partials + static_cast<std::int64_t>(blockIdx.y) * gridDim.x * numbers;
  add_up_block<kWidth>(lanes, totals, parts + static_cast<std::int64_t>(blockIdx.x) * numbers);
  if (!is_last_block(&workspace.done[blockIdx.y])) return;
  __shared__ float of_slice[kSumThreads];
  const int slices = kSumThreads / numbers, number = threadIdx.x % numbers, slice = threadIdx.x / numbers;
  float sum = 0;
#pragma unroll 12
  for (unsigned b = slice; b < gridDim.x; b += slices)
    sum += __ldcg(&parts[static_cast<std::int64_t>(b) * numbers + number]);
  of_slice[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= together || first_channel + threadIdx.x >= sums.channels) return;
  float total[kSums] = {};
  for (int i = 0; i < slices; ++i)
#pragma unroll
    for (int s = 0; s < kSums; ++s) total[s] += of_slice[i * numbers + s * together + threadIdx.x];
  finish(first_channel + threadIdx.x, total[0], total[1]);
}

inline dim3 grid_of(const ChannelSums& sums) {
  return {static_cast<unsigned>(sums.row_blocks), static_cast<unsigned>(sums.channel_blocks)};
}

// Returns the number of blocks of a pass over the whole tensor: as many as run at once, and at least a thread
// for every column.
inline int pass_blocks(const ChannelSums& sums) {
  const std::int64_t vectors = sums.channels / sums.width;
  const auto blocks_for = [](std::int64_t threads) { return (threads + kThreads - 1) / kThreads; };
  const std::int64_t most = static_cast<std::int64_t>(sums.multiprocessors) * kPassBlocks;
  return static_cast<int>(std::max(std::min(blocks_for(sums.rows * vectors), most), blocks_for(vectors)));
}

// Calls start.operator()<kWidth>().
template <typename T, typename Start>
void with_width(const ChannelSums& sums, const Start& start) {
  if (sums.width == 1)
    start.template operator()<1>();
  else
    start.template operator()<static_cast<int>(16 / sizeof(T))>();
}

}  // namespace trainyard::backend::cuda::device
