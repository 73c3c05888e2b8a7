#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/elementwise/smooth_unit.cuh"
#include "backend/cuda/runtime/parts.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kBlocksAtOnce = 4;  // of a multiprocessor

// A UnitColumns is what a thread knows of its kWidth neighbouring columns.
template <ops::SmoothKind kKind, typename T>
struct UnitColumns {
  static constexpr int kWidth = static_cast<int>(16 / sizeof(T)), kAtOnce = 2;
  using Lane = Vector<T, kWidth>;
  struct Loaded {
    Lane d, x;
  };

  const T *d_dst, *src;
  T* d_src;
  float sums[kWidth] = {};

  __device__ Loaded load(std::int64_t at) const {
    return {*reinterpret_cast<const Lane*>(d_dst + at), *reinterpret_cast<const Lane*>(src + at)};
  }
  __device__ void take(const Loaded& loaded, std::int64_t at) {
    Lane made;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float d = to_float(loaded.d.at[i]) * smooth<kKind>(to_float(loaded.x.at[i])).slope;
      sums[i] += d;
      made.at[i] = from_float<T>(d);
    }
    *reinterpret_cast<Lane*>(d_src + at) = made;
  }
};

// A block takes a strip of columns, a warp's width, of every so many rows. Its sums go to
// parts[strip][block][columns of a strip], and the last block of a strip adds them up.
template <ops::SmoothKind kKind, typename T>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    unit_grad_and_columns(UnitStrips strips, const T* d_dst, const T* src, T* d_src, float* parts,
                          std::uint32_t* counters, float* sums) {
  using Columns = UnitColumns<kKind, T>;
  constexpr int kStrip = 32 * Columns::kWidth;
  __shared__ float of_warp[kWarps][kStrip];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kStrip,
                     column = first + lane * Columns::kWidth;
  Columns columns{d_dst + column, src + column, d_src + column};
  if (column < strips.width)
    for_rows<false>(static_cast<std::int64_t>(blockIdx.x) * kWarps + warp,
                    static_cast<std::int64_t>(gridDim.x) * kWarps, strips.rows, strips.width, columns);
#pragma unroll
  for (int i = 0; i < Columns::kWidth; ++i) of_warp[warp][lane * Columns::kWidth + i] = columns.sums[i];
  __syncthreads();
  float* of_strip = parts + static_cast<std::int64_t>(blockIdx.y) * gridDim.x * kStrip;
  if (threadIdx.x < kStrip) {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += of_warp[w][threadIdx.x];
    of_strip[static_cast<std::int64_t>(blockIdx.x) * kStrip + threadIdx.x] = sum;
  }
  if (!is_last_block(&counters[blockIdx.y])) return;
  add_parts_of_blocks<kThreads>(static_cast<int>(gridDim.x), kStrip, of_strip, [&](int c, float sum) {
    if (first + c < strips.width) sums[first + c] = sum;
  });
}

}  // namespace

UnitStrips::UnitStrips(std::int64_t rows_, std::int64_t width_, std::size_t element_bytes,
                       int multiprocessors)
    : rows(rows_), width(width_) {
  constexpr std::int64_t kLeastRows = 2;  // of a warp
  const auto columns = static_cast<std::int64_t>(32 * 16 / element_bytes);
  strips = static_cast<int>((width + columns - 1) / columns);
  const std::int64_t useful = (rows + kWarps * kLeastRows - 1) / (kWarps * kLeastRows);
  const std::int64_t most = static_cast<std::int64_t>(multiprocessors) * kBlocksAtOnce / strips;
  row_blocks = static_cast<int>(std::max<std::int64_t>(1, std::min(useful, most)));
  part_bytes = static_cast<std::size_t>(strips * row_blocks * columns) * sizeof(float);
}

template <typename T>
void smooth_unit_grad_and_columns(cudaStream_t stream, ops::SmoothKind kind, const UnitStrips& strips,
                                  const T* d_dst, const T* src, T* d_src, float* parts,
                                  std::uint32_t* counters, float* sums) {
  if (strips.strips == 0) return;
  const dim3 grid(static_cast<unsigned>(strips.row_blocks), static_cast<unsigned>(strips.strips));
  with_kind(kind, [&]<ops::SmoothKind kKind>() {
    unit_grad_and_columns<kKind, T>
        <<<grid, kThreads, 0, stream>>>(strips, d_dst, src, d_src, parts, counters, sums);
  });
  check_launch("smooth_unit_grad_and_columns");
}

template void smooth_unit_grad_and_columns(cudaStream_t, ops::SmoothKind, const UnitStrips&, const float*,
                                           const float*, float*, float*, std::uint32_t*, float*);
template void smooth_unit_grad_and_columns(cudaStream_t, ops::SmoothKind, const UnitStrips&, const bf16*,
                                           const bf16*, bf16*, float*, std::uint32_t*, float*);

}  // namespace trainyard::backend::cuda::device
