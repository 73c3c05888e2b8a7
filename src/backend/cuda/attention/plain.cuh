#pragma once

#include "backend/cuda/attention/attention.cuh"
#include "backend/cuda/attention/probability_dropout.cuh"
#include "backend/cuda/runtime/rows.cuh"

// Attention by simple products in f32, for any type and any size of a head. A block has some rows of one side
// of the pairs (queries, or keys), eight warps share them, and goes through the other side 32 columns at a
// time: lane l of every warp has column l.
namespace trainyard::backend::cuda::device {

inline constexpr int kColumnsAtOnce = 32;
inline constexpr int kPairStride = kColumnsAtOnce + 4;  // of a row of pairs, in shared memory

// kParts: 32 numbers each of a vector. kRows: rows of a warp; the largest vectors leave room for fewer.
template <int kParts>
struct PlainTile {
  static constexpr int kRows = kParts > 4 ? 4 : 8;
  static constexpr int kTile = kRows * (kThreads / 32);
  // Four numbers more, so that neighbouring rows lie in other banks.
  static constexpr int kStride = kParts * 32 + 4;

  static constexpr std::size_t tile_bytes() { return sizeof(float) * kTile * kStride; }
  static constexpr std::size_t columns_bytes() { return sizeof(float) * kColumnsAtOnce * kStride; }
  static constexpr std::size_t pairs_bytes() { return sizeof(float) * kTile * kPairStride; }

  // Copies the vectors of some steps; behind their ends stand zeros.
  template <typename T>
  __device__ static void load(const T* from, std::int64_t stride, int first, int count, int steps, int size,
                              float* to) {
    constexpr int kNumbers = kParts * 32;
    for (int i = threadIdx.x; i < count * kNumbers; i += kThreads) {
      const int row = i / kNumbers, d = i % kNumbers;
      const bool there = first + row < steps && d < size;
      to[row * kStride + d] = there ? to_float(from[(first + row) * stride + d]) : 0.0f;
    }
  }

  // products[r] = row r times `column`, over the first numbers of both, a multiple of 4.
  __device__ static void multiply(const float* rows, const float* column, int numbers,
                                  float (&products)[kRows]) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) products[r] = 0;
    for (int d = 0; d < numbers; d += 4) {
      const float4 y = *reinterpret_cast<const float4*>(column + d);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float4 x = *reinterpret_cast<const float4*>(rows + r * kStride + d);
        products[r] += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
      }
    }
  }

  // sums[r] += pairs[r] times all columns; lane l has numbers l, l + 32, ... of each sum.
  __device__ static void add(const float* pairs, const float* columns, float (&sums)[kRows][kParts]) {
    const int lane = threadIdx.x % 32;
#pragma unroll 2
    for (int j = 0; j < kColumnsAtOnce; j += 4) {
      float factors[kRows][4];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        *reinterpret_cast<float4*>(factors[r]) =
            *reinterpret_cast<const float4*>(pairs + r * kPairStride + j);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          const float y = columns[(j + i) * kStride + part * 32 + lane];
#pragma unroll
          for (int r = 0; r < kRows; ++r) sums[r][part] += factors[r][i] * y;
        }
    }
  }

  template <typename T>
  __device__ static void store(const float (&sum)[kParts], float factor, int size, T* to) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int d = part * 32 + threadIdx.x % 32;
      if (d < size) to[d] = from_float<T>(sum[part] * factor);
    }
  }
};

// Calls start.operator()<kParts>().
template <typename Start>
void with_parts(int head_size, const Start& start) {
  if (head_size <= 32)
    start.template operator()<1>();
  else if (head_size <= 64)
    start.template operator()<2>();
  else if (head_size <= 128)
    start.template operator()<4>();
  else
    start.template operator()<8>();
}

template <typename Kernel>
void allow_shared(Kernel kernel, std::size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

inline int tiles_of(int steps, int tile) { return (steps + tile - 1) / tile; }

}  // namespace trainyard::backend::cuda::device
