#pragma once

#include "backend/cuda/dense/dense_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/tensor_cores.cuh"

// The kernels of a chain share this: weights in shared memory, several layers ahead.
namespace trainyard::backend::cuda::device {

// kWidth: the room for a layer, 32, 64 or 128; what a narrower one leaves of it is zero.
template <typename T, int kWidth, int kRows>
struct ChainStage {
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr int kStride = kWidth + kVector;  // so that neighbouring rows begin in other banks
  static constexpr int kPieces = kWidth / kVector;  // of 16 bytes in a row

  alignas(16) T weight[kWidth * kStride];
  alignas(16) T rows[kRows * kWidth];  // the block's rows of a tensor that the layer needs
  alignas(16) float bias[kWidth];

  __device__ void fetch_weight(const T* from, int width) {
    for (int piece = threadIdx.x; piece < width * kPieces; piece += kThreads) {
      const int row = piece / kPieces, column = piece % kPieces * kVector;
      if (column < width)
        copy_async_16(shared_address(weight + row * kStride + column), from + row * width + column, true);
    }
  }
  __device__ void fetch_rows(const T* from, std::int64_t first, std::int64_t count, int width) {
    for (int piece = threadIdx.x; piece < kRows * kPieces; piece += kThreads) {
      const int row = piece / kPieces, column = piece % kPieces * kVector;
      if (column < width && first + row < count)
        copy_async_16(shared_address(rows + row * kWidth + column), from + (first + row) * width + column,
                      true);
    }
  }
  __device__ void fetch_bias(const float* from, int width) {
    const int column = threadIdx.x * 4;
    if (column < width) copy_async_16(shared_address(bias + column), from + column, true);
  }
};

// A block has this shared memory. It has two sets of rows: one is read while the other is made.
template <typename T, int kWidth, int kRows, typename Layer>
struct ChainMemory {
  using Stage = ChainStage<T, kWidth, kRows>;
  static constexpr int kRoom = 200 << 10;
  static constexpr int kStages = 4 * sizeof(Stage) <= kRoom / 2 ? 4 : 3 * sizeof(Stage) <= kRoom ? 3 : 2;

  Stage stages[kStages];
  alignas(16) float rows[2][kRows * kWidth];
  ChainTable<Layer> layers;

  __device__ void clear() {
    auto* words = reinterpret_cast<std::uint32_t*>(this);
    for (int i = threadIdx.x; i < static_cast<int>(sizeof(ChainMemory) / 4); i += kThreads) words[i] = 0;
    __syncthreads();
  }
};

// A thread's column, and the rows of it that are its own: first_row(), first_row() + kGroups, ...
template <int kWidth, int kRows>
struct ChainPlace {
  static constexpr int kGroups = kThreads / kWidth, kOwn = kRows / kGroups;
  __device__ static int column() { return threadIdx.x % kWidth; }
  __device__ static int row(int own) { return threadIdx.x / kWidth + kGroups * own; }
};

// Calls start.operator()<kWidth, kRows>(blocks): few rows a block as long as there are enough
// multiprocessors.
template <typename Start>
void with_chain_room(const ChainSizes& sizes, const Start& start) {
  constexpr int kFew = 8, kMany = 32;
  const auto of_width = [&]<int kWidth>() {
    const auto blocks = [&](int rows) { return static_cast<unsigned>((sizes.rows + rows - 1) / rows); };
    if (blocks(kFew) <= 264)
      start.template operator()<kWidth, kFew>(blocks(kFew));
    else
      start.template operator()<kWidth, kMany>(blocks(kMany));
  };
  if (sizes.width <= 32)
    of_width.template operator()<32>();
  else if (sizes.width <= 64)
    of_width.template operator()<64>();
  else
    of_width.template operator()<128>();
}

}  // namespace trainyard::backend::cuda::device
