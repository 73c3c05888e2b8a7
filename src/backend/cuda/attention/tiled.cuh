#pragma once

#include "backend/cuda/attention/attention.cuh"
#include "backend/cuda/attention/probability_dropout.cuh"
#include "backend/cuda/runtime/tensor_cores.cuh"

// Attention on matrix units. A block has some rows of one side of the pairs (queries, or keys), and goes
// through the other side some columns at a time, of which the next ones arrive while it computes. A warp has
// kHeight times 16 rows. Products of rows and columns stay in its registers: they lie there as the first
// operand of the next product wants them.
namespace trainyard::backend::cuda::device {

inline constexpr int kTiledWarps = 4, kTiledThreads = kTiledWarps * 32;
inline constexpr float kLog2OfE = 1.44269504f;

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Numbers of a thread: [16 rows][8 columns][place of number i: row lane / 4 + i / 2 * 8, column
// lane % 4 * 2 + i % 2].
template <int kHeight, int kColumns>
using Products = float[kHeight][kColumns / 8][4];

// Vectors of up to kSize numbers, one below the other in shared memory; what is missing is zero.
template <int kSize>
struct TiledVectors {
  // Eight numbers more, so that neighbouring rows lie in other banks.
  static constexpr int kStride = kSize + 8;
  static constexpr std::uint32_t bytes(int rows) {
    return static_cast<std::uint32_t>(rows * kStride) * sizeof(bf16);
  }

  // Starts to copy the vectors of some steps.
  template <int kRows>
  __device__ static void copy(const bf16* from, std::int64_t stride, int first, int steps, int size,
                              std::uint32_t to) {
    constexpr int kPieces = kSize / 8;
    static_assert(kRows * kPieces % kTiledThreads == 0);
#pragma unroll
    for (int i = 0; i < kRows * kPieces / kTiledThreads; ++i) {
      const int at = i * kTiledThreads + static_cast<int>(threadIdx.x), row = at / kPieces,
                d = at % kPieces * 8;
      const bool there = first + row < steps && d < size;
      copy_async_16(to + (row * kStride + d) * sizeof(bf16), there ? from + (first + row) * stride + d : from,
                    there);
    }
  }

  // products = rows (16 * kHeight from first_row on) times columns, both vectors
  template <int kHeight, int kColumns>
  __device__ static void multiply(std::uint32_t rows, int first_row, std::uint32_t columns,
                                  Products<kHeight, kColumns>& products) {
    const int lane = threadIdx.x % 32;
    const std::uint32_t a_at = rows + ((first_row + lane % 16) * kStride + lane / 16 * 8) * sizeof(bf16);
    const std::uint32_t b_at =
        columns + ((lane % 8 + lane / 16 * 8) * kStride + lane / 8 % 2 * 8) * sizeof(bf16);
#pragma unroll
    for (int m = 0; m < kHeight; ++m)
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) products[m][n][i] = 0;
#pragma unroll
    for (int k = 0; k < kSize; k += 16) {
      std::uint32_t a[kHeight][4];
#pragma unroll
      for (int m = 0; m < kHeight; ++m) load_matrices(a[m], a_at + (m * 16 * kStride + k) * sizeof(bf16));
#pragma unroll
      for (int n = 0; n < kColumns; n += 16) {
        std::uint32_t b[4];
        load_matrices(b, b_at + (n * kStride + k) * sizeof(bf16));
#pragma unroll
        for (int m = 0; m < kHeight; ++m) {
          multiply_add_bf16(products[m][n / 8], a[m], b[0], b[1]);
          multiply_add_bf16(products[m][n / 8 + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  // sums (16 * kHeight rows of kSize) += pairs, rounded to bf16, times the vectors of the columns
  template <int kHeight, int kColumns>
  __device__ static void add(const Products<kHeight, kColumns>& pairs, std::uint32_t columns,
                             Products<kHeight, kSize>& sums) {
    const int lane = threadIdx.x % 32;
    const std::uint32_t b_at = columns + (lane % 16 * kStride + lane / 16 * 8) * sizeof(bf16);
#pragma unroll
    for (int k = 0; k < kColumns; k += 16) {
      std::uint32_t a[kHeight][4];
#pragma unroll
      for (int m = 0; m < kHeight; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* from = &pairs[m][k / 8 + i / 2][i % 2 * 2];
          const __nv_bfloat162 pair = __floats2bfloat162_rn(from[0], from[1]);
          a[m][i] = reinterpret_cast<const std::uint32_t&>(pair);
        }
#pragma unroll
      for (int n = 0; n < kSize; n += 16) {
        std::uint32_t b[4];
        load_matrices_transposed(b, b_at + (k * kStride + n) * sizeof(bf16));
#pragma unroll
        for (int m = 0; m < kHeight; ++m) {
          multiply_add_bf16(sums[m][n / 8], a[m], b[0], b[1]);
          multiply_add_bf16(sums[m][n / 8 + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  // Stores one row of this thread: half 0 or 1 of 16 rows. `to` is the vector of that row.
  __device__ static void store(const float (&sums)[kSize / 8][4], int half, float factor, int size,
                               bf16* to) {
#pragma unroll
    for (int n = 0; n < kSize / 8; ++n) {
      if (n * 8 >= size) break;
      *reinterpret_cast<__nv_bfloat162*>(to + n * 8 + threadIdx.x % 4 * 2) =
          __floats2bfloat162_rn(sums[n][half * 2] * factor, sums[n][half * 2 + 1] * factor);
    }
  }
};

// Calls start.operator()<kSize>().
template <typename Start>
void with_tiled_size(int head_size, const Start& start) {
  if (head_size <= 32)
    start.template operator()<32>();
  else if (head_size <= 64)
    start.template operator()<64>();
  else if (head_size <= 96)
    start.template operator()<96>();
  else
    start.template operator()<128>();
}

// Starts a kernel with so much shared memory.
template <typename Kernel, typename... Arguments>
void start_tiled(cudaStream_t stream, Kernel kernel, std::int64_t blocks, std::size_t bytes,
                 const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(blocks), kTiledThreads, bytes, stream>>>(arguments...);
}

}  // namespace trainyard::backend::cuda::device
