#include "backend/cuda/elementwise/elementwise_kernels.h"

#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename Word>
__global__ void __launch_bounds__(kThreads)
    gather_words(Walk from, std::uint32_t words, const Word* src, Word* dst) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < words;
       i += static_cast<std::uint32_t>(thread_count()))
    dst[i] = src[from.offset(i)];
}

// Transposes each matrix of a batch: dst[row][column] = src[row + column * src_stride].
struct Transpose {
  Walk matrices;  // where each begins in src
  std::uint32_t rows, columns;
  std::int64_t src_stride;
  Divisor row_tiles, column_tiles;
  std::uint32_t tiles;
};

constexpr int kTileSide = 32, kTileRows = 8;

template <typename Word>
__global__ void __launch_bounds__(kTileSide* kTileRows)
    transpose_tiles(Transpose transpose, const Word* src, Word* dst) {
  __shared__ Word shared[kTileSide][kTileSide + 1];
  const std::uint32_t lane = threadIdx.x % kTileSide, line = threadIdx.x / kTileSide;
  for (std::uint32_t tile = blockIdx.x; tile < transpose.tiles; tile += gridDim.x) {
    const std::uint32_t row_tile = transpose.column_tiles.quotient(tile);
    const std::uint32_t matrix = transpose.row_tiles.quotient(row_tile);
    const std::uint32_t first_row = (row_tile - matrix * transpose.row_tiles.divisor) * kTileSide;
    const std::uint32_t first_column = (tile - row_tile * transpose.column_tiles.divisor) * kTileSide;
    const Word* from = src + transpose.matrices.offset(matrix);
    Word* to = dst + static_cast<std::int64_t>(matrix) * transpose.rows * transpose.columns;
    __syncthreads();  // the tile before was written
#pragma unroll
    for (std::uint32_t c = line; c < kTileSide; c += kTileRows)
      if (first_row + lane < transpose.rows && first_column + c < transpose.columns)
        shared[c][lane] = from[first_row + lane + (first_column + c) * transpose.src_stride];
    __syncthreads();
#pragma unroll
    for (std::uint32_t r = line; r < kTileSide; r += kTileRows)
      if (first_row + r < transpose.rows && first_column + lane < transpose.columns)
        to[static_cast<std::int64_t>(first_row + r) * transpose.columns + first_column + lane] =
            shared[lane][r];
  }
}

// Neighbours of src are a line apart in dst, and there are enough of both for tiles.
bool is_transpose(const Walk& from) {
  if (from.rank < 2) return false;
  const Walk::Axis &rows = from.axes[from.rank - 2], &columns = from.axes[from.rank - 1];
  return rows.stride == 1 && columns.stride > 1 && rows.length.divisor >= kTileSide / 2 &&
         columns.length.divisor >= kTileSide / 2;
}

Transpose transpose_of(const StridedCopy& copy) {
  const Walk::Axis &rows = copy.from.axes[copy.from.rank - 2], &columns = copy.from.axes[copy.from.rank - 1];
  Transpose transpose{.rows = rows.length.divisor,
                      .columns = columns.length.divisor,
                      .src_stride = columns.stride,
                      .row_tiles = Divisor((rows.length.divisor + kTileSide - 1) / kTileSide),
                      .column_tiles = Divisor((columns.length.divisor + kTileSide - 1) / kTileSide)};
  std::uint32_t matrices = 1;
  for (int axis = 0; axis < copy.from.rank - 2; ++axis) {
    const Walk::Axis& outer = copy.from.axes[axis];
    transpose.matrices.append(outer.length.divisor, outer.stride);
    matrices *= outer.length.divisor;
  }
  transpose.tiles = matrices * transpose.row_tiles.divisor * transpose.column_tiles.divisor;
  return transpose;
}

// Makes the same copy with elements joined to the largest words that neighbours allow.
StridedCopy in_words(const StridedCopy& copy) {
  const bool together = copy.from.rank == 0 || copy.from.axes[copy.from.rank - 1].stride == 1;
  if (!together) return copy;
  std::int64_t word = word_bytes(copy.first * copy.element_bytes, copy.elements * copy.element_bytes);
  for (int axis = 0; axis < copy.from.rank; ++axis) {
    const bool inner = axis == copy.from.rank - 1;
    const std::int64_t steps = inner ? copy.from.axes[axis].length.divisor : copy.from.axes[axis].stride;
    word = word_bytes(word, steps * copy.element_bytes);
  }
  const std::int64_t joined = word / copy.element_bytes;
  StridedCopy wide{.from = {},
                   .first = copy.first / joined,
                   .elements = copy.elements / joined,
                   .element_bytes = static_cast<int>(word)};
  for (int axis = 0; axis < copy.from.rank; ++axis) {
    const Walk::Axis& old = copy.from.axes[axis];
    const bool inner = axis == copy.from.rank - 1;
    wide.from.append(inner ? old.length.divisor / joined : old.length.divisor,
                     inner ? 1 : old.stride / joined);
  }
  return wide;
}

}  // namespace

void strided_copy(cudaStream_t stream, const StridedCopy& copy, const std::byte* src, std::byte* dst) {
  if (is_transpose(copy.from)) {
    const Transpose transpose = transpose_of(copy);
    with_word(copy.element_bytes, [&](auto word) {
      using Word = decltype(word);
      transpose_tiles<<<grid_for(transpose.tiles, 1), kTileSide * kTileRows, 0, stream>>>(
          transpose, reinterpret_cast<const Word*>(src) + copy.first, reinterpret_cast<Word*>(dst));
    });
  } else {
    const StridedCopy wide = in_words(copy);
    with_word(wide.element_bytes, [&](auto word) {
      using Word = decltype(word);
      gather_words<<<grid_for(static_cast<std::size_t>(wide.elements)), kThreads, 0, stream>>>(
          wide.from, static_cast<std::uint32_t>(wide.elements),
          reinterpret_cast<const Word*>(src) + wide.first, reinterpret_cast<Word*>(dst));
    });
  }
  check_launch("strided_copy");
}

}  // namespace trainyard::backend::cuda::device
