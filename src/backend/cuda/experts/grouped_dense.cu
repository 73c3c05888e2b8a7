#include <mma.h>

#include <type_traits>

#include "backend/cuda/experts/experts_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/tensor_cores.cuh"

// Products of groups of rows, tile by tile through shared memory: bf16 on matrix units, f32 by multiply-adds.
// A block finds its group in the offsets; the grid has room for any distribution of the rows, and blocks that
// find nothing end at once.
namespace trainyard::backend::cuda::device {

namespace {

constexpr int kHeight = 128, kWidth = 64;  // of the tile of the result that a block makes
constexpr int kProductThreads = 256;

// A matrix that lies row by row.
template <typename T>
struct Matrix {
  const T* at;
  std::int64_t rows, columns;
};

// A part of an operand in shared memory: kExtent rows or columns of the result by kDepth terms of its sums.
// kDepthRows: the matrix has a row for each term; else a column. kWide: its rows are whole vectors.
template <typename T, int kExtent, bool kDepthRows, bool kWide>
struct Operand {
  static constexpr int kOfVector = 16 / sizeof(T), kDepth = 64 / sizeof(T);
  static constexpr int kRows = kDepthRows ? kDepth : kExtent, kColumns = kDepthRows ? kExtent : kDepth;
  static constexpr int kStride = kColumns + kOfVector;  // neighbouring rows lie in other banks
  static constexpr int kElements = kRows * kStride;

  // Elements outside of the matrix are zero.
  __device__ static void copy(const Matrix<T>& from, std::int64_t extent, std::int64_t depth, T* to) {
    constexpr int kVectors = kColumns / kOfVector;
    const std::int64_t first_row = kDepthRows ? depth : extent, first_column = kDepthRows ? extent : depth;
    for (int v = static_cast<int>(threadIdx.x); v < kRows * kVectors; v += kProductThreads) {
      const int row = v / kVectors, column = v % kVectors * kOfVector;
      const std::int64_t r = first_row + row, c = first_column + column;
      T* target = to + row * kStride + column;
      if constexpr (kWide) {
        const bool there = r < from.rows && c < from.columns;
        copy_async_16(shared_address(target), there ? from.at + r * from.columns + c : from.at, there);
      } else {
#pragma unroll
        for (int i = 0; i < kOfVector; ++i)
          target[i] =
              r < from.rows && c + i < from.columns ? from.at[r * from.columns + c + i] : from_float<T>(0.0f);
      }
    }
  }
  __device__ static const T* element(const T* tile, int extent, int depth) {
    return kDepthRows ? tile + depth * kStride + extent : tile + extent * kStride + depth;
  }
};

// The tile of the result. of_block is free shared memory of kBytes.
template <typename T, typename A, typename B>
class Sums;

// In f32 a thread has every 16th row and column, 8 by 4.
template <typename A, typename B>
class Sums<float, A, B> {
 public:
  static constexpr std::size_t kBytes = 0;

  __device__ void add(const float* a, const float* b) {
#pragma unroll
    for (int k = 0; k < A::kDepth; ++k) {
      float x[kTall], y[kBroad];
#pragma unroll
      for (int i = 0; i < kTall; ++i) x[i] = *A::element(a, row() + 16 * i, k);
#pragma unroll
      for (int j = 0; j < kBroad; ++j) y[j] = *B::element(b, column() + 16 * j, k);
#pragma unroll
      for (int i = 0; i < kTall; ++i)
#pragma unroll
        for (int j = 0; j < kBroad; ++j) sums_[i][j] += x[i] * y[j];
    }
  }
  template <typename Visit>
  __device__ void for_each(float*, const Visit& visit) const {
#pragma unroll
    for (int i = 0; i < kTall; ++i)
#pragma unroll
      for (int j = 0; j < kBroad; ++j) visit(row() + 16 * i, column() + 16 * j, sums_[i][j]);
  }

 private:
  static constexpr int kTall = kHeight / 16, kBroad = kWidth / 16;
  static_assert(kProductThreads == 16 * 16);
  __device__ static int row() { return static_cast<int>(threadIdx.x) / 16; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % 16; }

  float sums_[kTall][kBroad] = {};
};

// In bf16 a warp has 32 rows and columns, in fragments of 16 by 16.
template <typename A, typename B>
class Sums<bf16, A, B> {
 public:
  static constexpr int kStride = kWidth + 4;
  static constexpr std::size_t kBytes = sizeof(float) * kHeight * kStride;

  __device__ Sums() {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) nvcuda::wmma::fill_fragment(sums_[i][j], 0.0f);
  }
  __device__ void add(const bf16* a, const bf16* b) {
#pragma unroll
    for (int k = 0; k < A::kDepth; k += 16) {
      Left left[2];
      Right right[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        nvcuda::wmma::load_matrix_sync(left[i], A::element(a, row() + 16 * i, k), A::kStride);
        nvcuda::wmma::load_matrix_sync(right[i], B::element(b, column() + 16 * i, k), B::kStride);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) nvcuda::wmma::mma_sync(sums_[i][j], left[i], right[j], sums_[i][j]);
    }
  }
  template <typename Visit>
  __device__ void for_each(float* of_block, const Visit& visit) const {
    __syncthreads();  // the operands that lay there were used
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        nvcuda::wmma::store_matrix_sync(of_block + (row() + 16 * i) * kStride + column() + 16 * j,
                                        sums_[i][j], kStride, nvcuda::wmma::mem_row_major);
    __syncthreads();
    for (int at = static_cast<int>(threadIdx.x); at < kHeight * kWidth; at += kProductThreads)
      visit(at / kWidth, at % kWidth, of_block[at / kWidth * kStride + at % kWidth]);
  }

 private:
  using Rows = nvcuda::wmma::row_major;
  using Columns = nvcuda::wmma::col_major;
  // The first operand is (extent, depth) and the second (depth, extent). An operand that has a row for each
  // term has kDepth of them.
  using Left = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, bf16,
                                      std::conditional_t<A::kRows == A::kDepth, Columns, Rows>>;
  using Right = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, bf16,
                                       std::conditional_t<B::kRows == B::kDepth, Rows, Columns>>;
  static_assert(kProductThreads == 32 * (kHeight / 32) * (kWidth / 32));
  __device__ static int row() { return static_cast<int>(threadIdx.x) / 32 % (kHeight / 32) * 32; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) / 32 / (kHeight / 32) * 32; }

  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums_[2][2];
};

// Calls visit(row, column, number) for all of a tile of a b from (first_row, first_column) on, also for those
// outside of the result.
template <typename T, bool kADepthRows, bool kBDepthRows, bool kWide, typename Visit>
__device__ void multiply_tile(const Matrix<T>& a, const Matrix<T>& b, std::int64_t first_row,
                              std::int64_t first_column, std::int64_t depth, const Visit& visit) {
  using A = Operand<T, kHeight, kADepthRows, kWide>;
  using B = Operand<T, kWidth, kBDepthRows, kWide>;
  using TileSums = Sums<T, A, B>;
  constexpr std::size_t kStage = (A::kElements + B::kElements) * sizeof(T);
  constexpr std::size_t kBytes = 2 * kStage > TileSums::kBytes ? 2 * kStage : TileSums::kBytes;
  __shared__ alignas(128) unsigned char memory[kBytes];
  T* const stages = reinterpret_cast<T*>(memory);
  const auto copy = [&](int step) {
    T* stage = stages + step % 2 * (A::kElements + B::kElements);
    const std::int64_t from = static_cast<std::int64_t>(step) * A::kDepth;
    A::copy(a, first_row, from, stage);
    B::copy(b, first_column, from, stage + A::kElements);
  };
  TileSums sums;
  const auto steps = static_cast<int>((depth + A::kDepth - 1) / A::kDepth);
  if (steps > 0) copy(0);
  commit_copies();
  for (int step = 0; step < steps; ++step) {
    wait_copies<0>();
    __syncthreads();  // all have copied this step, and none reads the one before
    if (step + 1 < steps) copy(step + 1);
    commit_copies();
    const T* stage = stages + step % 2 * (A::kElements + B::kElements);
    sums.add(stage, stage + A::kElements);
  }
  sums.for_each(reinterpret_cast<float*>(memory), visit);
}

// The rows of a group, inside of a tensor whatever the offsets say.
struct Group {
  std::int64_t begin, rows;

  __device__ Group(const GroupSizes& sizes, const std::int32_t* offsets, std::int64_t e) {
    const std::int64_t first = offsets[e], end = offsets[e + 1];
    begin = first < 0 ? 0 : first < sizes.rows ? first : sizes.rows;
    rows = (end < sizes.rows ? end : sizes.rows) - begin;
    if (rows < 0) rows = 0;
  }
};

// dst (rows, columns) = src (rows, depth) times the weight of each row's group [+ bias]. kTurned: the weight
// of a group is (columns, depth), else (depth, columns).
template <typename T, bool kTurned, bool kWide>
__global__ void __launch_bounds__(kProductThreads)
    multiply_rows(GroupSizes sizes, const T* __restrict__ src, const T* __restrict__ weight,
                  const std::int32_t* __restrict__ offsets, const float* __restrict__ bias,
                  T* __restrict__ dst) {
  const std::int64_t depth = kTurned ? sizes.inputs : sizes.outputs,
                     columns = kTurned ? sizes.outputs : sizes.inputs;
  std::int64_t tile = blockIdx.x;
  for (std::int64_t e = 0; e < sizes.groups; ++e) {
    const Group group(sizes, offsets, e);
    const std::int64_t tiles = (group.rows + kHeight - 1) / kHeight;
    if (tile >= tiles) {
      tile -= tiles;
      continue;
    }
    const std::int64_t first_row = tile * kHeight,
                       first_column = static_cast<std::int64_t>(blockIdx.y) * kWidth;
    const Matrix<T> a{src + group.begin * depth, group.rows, depth},
        b{weight + e * sizes.inputs * sizes.outputs, kTurned ? columns : depth, kTurned ? depth : columns};
    multiply_tile<T, false, !kTurned, kWide>(
        a, b, first_row, first_column, depth, [&](int i, int j, float sum) {
          const std::int64_t row = first_row + i, column = first_column + j;
          if (row >= group.rows || column >= columns) return;
          if (bias != nullptr) sum += bias[e * columns + column];
          dst[(group.begin + row) * columns + column] = from_float<T>(sum);
        });
    return;
  }
}

// One group a z: d_weight (outputs, inputs) = d_dst (rows, outputs)^T src (rows, inputs).
template <typename T, bool kWide>
__global__ void __launch_bounds__(kProductThreads)
    multiply_weights(GroupSizes sizes, const T* __restrict__ d_dst, const T* __restrict__ src,
                     const std::int32_t* __restrict__ offsets, T* __restrict__ d_weight) {
  const std::int64_t e = blockIdx.z;
  const Group group(sizes, offsets, e);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kHeight,
                     first_column = static_cast<std::int64_t>(blockIdx.x) * kWidth;
  const Matrix<T> a{d_dst + group.begin * sizes.outputs, group.rows, sizes.outputs},
      b{src + group.begin * sizes.inputs, group.rows, sizes.inputs};
  d_weight += e * sizes.outputs * sizes.inputs;
  multiply_tile<T, true, true, kWide>(a, b, first_row, first_column, group.rows,
                                      [&](int i, int j, float sum) {
                                        const std::int64_t row = first_row + i, column = first_column + j;
                                        if (row < sizes.outputs && column < sizes.inputs)
                                          d_weight[row * sizes.inputs + column] = from_float<T>(sum);
                                      });
}

constexpr int kBiasWarps = 8;

// A lane for each output of a group; the warps share its rows.
template <typename T>
__global__ void __launch_bounds__(32 * kBiasWarps)
    sum_biases(GroupSizes sizes, const T* __restrict__ d_dst, const std::int32_t* __restrict__ offsets,
               float* __restrict__ d_bias) {
  __shared__ float partial[kBiasWarps][32];
  const std::int64_t e = blockIdx.y;
  const Group group(sizes, offsets, e);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (output < sizes.outputs)
#pragma unroll 4
    for (std::int64_t row = warp; row < group.rows; row += kBiasWarps)
      sum += to_float(d_dst[(group.begin + row) * sizes.outputs + output]);
  partial[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || output >= sizes.outputs) return;
  for (int w = 1; w < kBiasWarps; ++w) sum += partial[w][lane];
  d_bias[e * sizes.outputs + output] = sum;
}

unsigned blocks_of(std::int64_t count, int block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

// Calls start.operator()<kWide>().
template <typename T, typename Start>
void with_width(const GroupSizes& sizes, const Start& start) {
  constexpr std::int64_t kOfVector = 16 / sizeof(T);
  if (sizes.inputs % kOfVector == 0 && sizes.outputs % kOfVector == 0)
    start.template operator()<true>();
  else
    start.template operator()<false>();
}

// Every group has at most one tile that is not full.
dim3 grid_of_rows(const GroupSizes& sizes, std::int64_t columns) {
  return {static_cast<unsigned>(sizes.rows / kHeight + std::min(sizes.groups, sizes.rows)),
          blocks_of(columns, kWidth)};
}

}  // namespace

template <typename T>
void grouped_dense(cudaStream_t stream, const GroupSizes& sizes, const T* src, const T* weight,
                   const std::int32_t* offsets, const float* bias, T* dst) {
  with_width<T>(sizes, [&]<bool kWide>() {
    multiply_rows<T, true, kWide><<<grid_of_rows(sizes, sizes.outputs), kProductThreads, 0, stream>>>(
        sizes, src, weight, offsets, bias, dst);
  });
  check_launch("grouped_dense");
}

template <typename T>
void grouped_dense_d_src(cudaStream_t stream, const GroupSizes& sizes, const T* d_dst, const T* weight,
                         const std::int32_t* offsets, T* d_src) {
  with_width<T>(sizes, [&]<bool kWide>() {
    multiply_rows<T, false, kWide><<<grid_of_rows(sizes, sizes.inputs), kProductThreads, 0, stream>>>(
        sizes, d_dst, weight, offsets, nullptr, d_src);
  });
  check_launch("grouped_dense_d_src");
}

template <typename T>
void grouped_dense_d_weight(cudaStream_t stream, const GroupSizes& sizes, const T* d_dst, const T* src,
                            const std::int32_t* offsets, T* d_weight, float* d_bias) {
  const auto groups = static_cast<unsigned>(sizes.groups);
  with_width<T>(sizes, [&]<bool kWide>() {
    const dim3 grid(blocks_of(sizes.inputs, kWidth), blocks_of(sizes.outputs, kHeight), groups);
    multiply_weights<T, kWide><<<grid, kProductThreads, 0, stream>>>(sizes, d_dst, src, offsets, d_weight);
  });
  check_launch("grouped_dense_d_weight");
  if (d_bias == nullptr) return;
  const dim3 grid(blocks_of(sizes.outputs, 32), groups);
  sum_biases<T><<<grid, 32 * kBiasWarps, 0, stream>>>(sizes, d_dst, offsets, d_bias);
  check_launch("grouped_dense_d_weight");
}

#define TRAINYARD_GROUPED(T)                                                                            \
  template void grouped_dense(cudaStream_t, const GroupSizes&, const T*, const T*, const std::int32_t*, \
                              const float*, T*);                                                        \
  template void grouped_dense_d_src(cudaStream_t, const GroupSizes&, const T*, const T*,                \
                                    const std::int32_t*, T*);                                           \
  template void grouped_dense_d_weight(cudaStream_t, const GroupSizes&, const T*, const T*,             \
                                       const std::int32_t*, T*, float*);
TRAINYARD_GROUPED(float)
TRAINYARD_GROUPED(bf16)

}  // namespace trainyard::backend::cuda::device
