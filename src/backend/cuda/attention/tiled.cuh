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

// Vectors of up to kSize numbers, one below the other in shared memory; what is missing is zero. T: bf16, or
// float, which is rounded to tf32 where it is multiplied.
template <typename T, int kSize>
struct TiledVectors {
  static constexpr bool kIsBf16 = sizeof(T) == 2;
  static constexpr int kOfPiece = 16 / sizeof(T);  // numbers that are copied together
  static constexpr int kDepth = 32 / sizeof(T);    // numbers that one instruction sums
  // 16 bytes more, so that neighbouring rows lie in other banks.
  static constexpr int kStride = kSize + kOfPiece;
  static constexpr int kRowBytes = kStride * static_cast<int>(sizeof(T));
  static constexpr std::uint32_t bytes(int rows) { return static_cast<std::uint32_t>(rows * kRowBytes); }

  // Starts to copy the vectors of some steps.
  template <int kRows>
  __device__ static void copy(const T* from, std::int64_t stride, int first, int steps, int size,
                              std::uint32_t to) {
    constexpr int kPieces = kSize / kOfPiece;
    static_assert(kRows * kPieces % kTiledThreads == 0);
#pragma unroll
    for (int i = 0; i < kRows * kPieces / kTiledThreads; ++i) {
      const int at = i * kTiledThreads + static_cast<int>(threadIdx.x), row = at / kPieces,
                piece = at % kPieces;
      const bool there = first + row < steps && piece * kOfPiece < size;
      copy_async_16(to + row * kRowBytes + piece * 16,
                    there ? from + (first + row) * stride + piece * kOfPiece : from, there);
    }
  }

  // products = rows (16 * kHeight from first_row on) times columns, both vectors
  template <int kHeight, int kColumns>
  __device__ static void multiply(std::uint32_t rows, int first_row, std::uint32_t columns,
                                  Products<kHeight, kColumns>& products) {
    const int lane = threadIdx.x % 32;
    const std::uint32_t a_at = rows + (first_row + lane % 16) * kRowBytes + lane / 16 * 16;
    const std::uint32_t b_at = columns + (lane % 8 + lane / 16 * 8) * kRowBytes + lane / 8 % 2 * 16;
#pragma unroll
    for (int m = 0; m < kHeight; ++m)
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) products[m][n][i] = 0;
#pragma unroll
    for (int k = 0; k < kSize / kDepth; ++k) {
      std::uint32_t a[kHeight][4];
#pragma unroll
      for (int m = 0; m < kHeight; ++m) load_words(a[m], a_at + m * 16 * kRowBytes + k * 32);
#pragma unroll
      for (int n = 0; n < kColumns; n += 16) {
        std::uint32_t b[4];
        load_words(b, b_at + n * kRowBytes + k * 32);
#pragma unroll
        for (int m = 0; m < kHeight; ++m) {
          multiply_add_words<T>(products[m][n / 8], a[m], b[0], b[1]);
          multiply_add_words<T>(products[m][n / 8 + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  // sums (16 * kHeight rows of kSize) += pairs, rounded, times the vectors of the columns
  template <int kHeight, int kColumns>
  __device__ static void add(const Products<kHeight, kColumns>& pairs, std::uint32_t columns,
                             Products<kHeight, kSize>& sums) {
#pragma unroll
    for (int k = 0; k < kColumns; k += kDepth) {
      std::uint32_t a[kHeight][4];
#pragma unroll
      for (int m = 0; m < kHeight; ++m) round_pairs(&pairs[m][k / 8], a[m]);
#pragma unroll
      for (int n = 0; n < kSize; n += 16) {
        std::uint32_t b[4];
        load_turned(columns, k, n, b);
#pragma unroll
        for (int m = 0; m < kHeight; ++m) {
          multiply_add_words<T>(sums[m][n / 8], a[m], b[0], b[1]);
          multiply_add_words<T>(sums[m][n / 8 + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  // Stores one row of this thread: half 0 or 1 of 16 rows. `to` is the vector of that row.
  __device__ static void store(const float (&sums)[kSize / 8][4], int half, float factor, int size, T* to) {
#pragma unroll
    for (int n = 0; n < kSize / 8; ++n) {
      const int d = n * 8 + threadIdx.x % 4 * 2;
      if (d >= size) break;
      *reinterpret_cast<Vector<T, 2>*>(to + d) = {
          {from_float<T>(sums[n][half * 2] * factor), from_float<T>(sums[n][half * 2 + 1] * factor)}};
    }
  }

 private:
  __device__ static void load_words(std::uint32_t (&to)[4], std::uint32_t address) {
    load_matrices(to, address);
    if constexpr (!kIsBf16) round_to_tf32(to);
  }

  // The first operand of a product, kDepth columns of pairs. Of f32 a thread has columns 2 i and 2 i + 1
  // where the instruction wants i and i + 4: the order of a sum is free, and load_turned() takes the same.
  __device__ static void round_pairs(const float (*pairs)[4], std::uint32_t (&a)[4]) {
    if constexpr (kIsBf16) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* from = &pairs[i / 2][i % 2 * 2];
        const __nv_bfloat162 pair = __floats2bfloat162_rn(from[0], from[1]);
        a[i] = reinterpret_cast<const std::uint32_t&>(pair);
      }
    } else {
      a[0] = to_tf32(pairs[0][0]);
      a[1] = to_tf32(pairs[0][2]);
      a[2] = to_tf32(pairs[0][1]);
      a[3] = to_tf32(pairs[0][3]);
    }
  }

  // The second operands of two products: numbers n to n + 15 of kDepth vectors from k on.
  __device__ static void load_turned(std::uint32_t columns, int k, int n, std::uint32_t (&b)[4]) {
    const int lane = threadIdx.x % 32;
    if constexpr (kIsBf16) {
      load_matrices_transposed(b, columns + (lane % 16 + k) * kRowBytes + lane / 16 * 16 + n * 2);
    } else {
      const std::uint32_t at = columns + (lane % 4 * 2 + k) * kRowBytes + (lane / 4 + n) * 4;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        b[i] = to_tf32(__uint_as_float(load_word(at + i % 2 * kRowBytes + i / 2 * 32)));
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
