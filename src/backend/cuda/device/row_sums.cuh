#pragma once

#include "backend/cuda/device/batch_norm.h"
#include "backend/cuda/device/launch.cuh"

// Sums over the rows of a tensor that lies channels last: one launch, in a fixed order.
namespace trainyard::backend::cuda::device {

// Threads of a block that sums: kLanes of them stand side by side and take kWidth channels each, the others
// take further rows. Every thread has kUnroll rows in flight.
inline constexpr int kSumThreads = 512, kSumWarps = kSumThreads / 32;
inline constexpr int kUnroll = 4;

template <typename T>
inline constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
template <typename T>
inline constexpr int kLanes = ChannelSums::kChannelsPerBlock / kWidth<T>;

// kWidth numbers as they lie in memory: 16 bytes, where the channels come in such pieces.
template <typename T>
using Piece = Vector<T, kWidth<T>>;

template <typename T>
__device__ inline Piece<T> load_piece(const T* from, bool whole, int left) {
  if (whole) return *reinterpret_cast<const Piece<T>*>(from);
  Piece<T> piece;
#pragma unroll
  for (int i = 0; i < kWidth<T>; ++i) piece.at[i] = i < left ? from[i] : from_float<T>(0);
  return piece;
}

template <typename T>
__device__ inline void load(const T* from, bool whole, int left, float (&to)[kWidth<T>]) {
  const Piece<T> piece = load_piece(from, whole, left);
#pragma unroll
  for (int i = 0; i < kWidth<T>; ++i) to[i] = to_float(piece.at[i]);
}

using BlockSums = float[kSumWarps][ChannelSums::kSums][ChannelSums::kChannelsPerBlock];

// The sums of this block, by its warps: lanes that stand under each other first.
template <typename T>
__device__ inline void add_up_warps(float (&first)[kWidth<T>], float (&second)[kWidth<T>],
                                    BlockSums& shared) {
  const int lane = threadIdx.x % kLanes<T>, warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < kWidth<T>; ++i) {
#pragma unroll
    for (int offset = kLanes<T>; offset < 32; offset *= 2) {
      first[i] += __shfl_xor_sync(0xFFFFFFFFu, first[i], offset);
      second[i] += __shfl_xor_sync(0xFFFFFFFFu, second[i], offset);
    }
    if (threadIdx.x % 32 < kLanes<T>) {
      shared[warp][0][lane * kWidth<T> + i] = first[i];
      shared[warp][1][lane * kWidth<T> + i] = second[i];
    }
  }
  __syncthreads();
}

// Sums terms.add(...) over all rows of this block, and leaves the sums of the whole tensor to the last block
// of these channels: finish(channel, sum 0, sum 1) is called once for every channel.
template <typename T, typename Terms, typename Finish>
__device__ void sum_rows(const ChannelSums& sums, const Terms& terms, const Finish& finish, float* partials,
                         unsigned* done) {
  constexpr int kC = ChannelSums::kChannelsPerBlock, kRow = ChannelSums::kSums * kC;
  constexpr int kRows = kSumThreads / kLanes<T>, kSlices = kSumThreads / kRow;
  __shared__ BlockSums shared;
  __shared__ bool last;
  const std::int64_t channel =
      static_cast<std::int64_t>(blockIdx.y) * kC + threadIdx.x % kLanes<T> * kWidth<T>;
  float first[kWidth<T>] = {}, second[kWidth<T>] = {};
  if (channel < sums.channels)
    terms.add(channel, static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kLanes<T>,
              static_cast<std::int64_t>(gridDim.x) * kRows, first, second);
  add_up_warps<T>(first, second, shared);
  float* mine = partials + static_cast<std::int64_t>(blockIdx.y) * gridDim.x * kRow;
  if (threadIdx.x < kRow) {
    float sum = 0;
    for (int w = 0; w < kSumWarps; ++w) sum += (&shared[w][0][0])[threadIdx.x];
    mine[static_cast<std::int64_t>(blockIdx.x) * kRow + threadIdx.x] = sum;
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&done[blockIdx.y], 1u) == gridDim.x - 1;
    if (last) done[blockIdx.y] = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const int at = threadIdx.x % kRow, slice = threadIdx.x / kRow;
  float sum = 0;
#pragma unroll 16
  for (unsigned b = slice; b < gridDim.x; b += kSlices)
    sum += __ldcg(&mine[static_cast<std::int64_t>(b) * kRow + at]);
  (&shared[slice][0][0])[at] = sum;
  __syncthreads();
  const std::int64_t finished = static_cast<std::int64_t>(blockIdx.y) * kC + threadIdx.x;
  if (threadIdx.x >= kC || finished >= sums.channels) return;
  float total[2] = {};
  for (int s = 0; s < kSlices; ++s) {
    total[0] += shared[s][0][threadIdx.x];
    total[1] += shared[s][1][threadIdx.x];
  }
  finish(finished, total[0], total[1]);
}

}  // namespace trainyard::backend::cuda::device
