#include "backend/onednn/runtime/row_product.h"

namespace trainyard::backend::onednn {
namespace {

// A vector is as wide as the registers of the machine. A tile has as many sums as fit the registers beside
// the operands.
#ifdef __AVX512F__
constexpr std::int64_t kLanes = 16;
constexpr int kTileRows = 8;
#else
constexpr std::int64_t kLanes = 8;
constexpr int kTileRows = 4;
#endif
using Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias)) = float;

const Vector& vector_at(const float* p) { return *reinterpret_cast<const Vector*>(p); }
Vector& vector_at(float* p) { return *reinterpret_cast<Vector*>(p); }

// Product holds the numbers that all tiles of one product share.
struct Product {
  std::int64_t depth, a_row, a_column, b_stride, dst_stride;
  StartRow start;
};

// The loops are unrolled before the sums get registers: they would pass through memory otherwise, which takes
// as long as the products of a short depth.
template <int kRows, int kVectors>
void tile(const Product& product, const float* a, const float* b, float* dst, const float* bias) {
  Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = product.start.dst ? vector_at(dst + r * product.dst_stride + v * kLanes)
                   : bias != nullptr ? vector_at(bias + v * kLanes)
                                     : Vector{};
  for (std::int64_t k = 0; k < product.depth; ++k) {
    Vector row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = vector_at(b + k * product.b_stride + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = a[r * product.a_row + k * product.a_column];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) vector_at(dst + r * product.dst_stride + v * kLanes) = sums[r][v];
}

// Computes all rows of some columns; the rows that are fewer than a tile go by halves of it.
template <int kRows, int kVectors>
void panel(const Product& product, std::int64_t rows, const float* a, const float* b, float* dst,
           const float* bias) {
  std::int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    tile<kRows, kVectors>(product, a + r * product.a_row, b, dst + r * product.dst_stride, bias);
  if constexpr (kRows > 1)
    panel<kRows / 2, kVectors>(product, rows - r, a + r * product.a_row, b, dst + r * product.dst_stride,
                               bias);
}

void column(const Product& product, std::int64_t rows, const float* a, const float* b, float* dst,
            const float* bias) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float sum = product.start.dst ? dst[r * product.dst_stride] : bias != nullptr ? *bias : 0;
    for (std::int64_t k = 0; k < product.depth; ++k)
      sum += a[r * product.a_row + k * product.a_column] * b[k * product.b_stride];
    dst[r * product.dst_stride] = sum;
  }
}

// Lane l of the first result is number l of a where bit kStep of l is clear, else number l - kStep of b; of
// the second it is number l + kStep of a, else number l of b.
template <int kStep>
void exchange(Vector& a, Vector& b) {
  typedef std::int32_t Mask __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
  constexpr auto mask = []<std::size_t... l>(bool second, std::index_sequence<l...>) {
    return Mask{
        ((l & kStep) == 0 ? (second ? int{l} + kStep : int{l}) : int{kLanes + l} - (second ? 0 : kStep))...};
  };
  constexpr auto lanes = std::make_index_sequence<kLanes>();
  const Vector first = __builtin_shuffle(a, b, mask(false, lanes));
  b = __builtin_shuffle(a, b, mask(true, lanes));
  a = first;
}

// Exchanges the parts off the diagonal, of blocks twice as large each time.
template <int kStep = 1>
void exchange_all(Vector* rows) {
  for (int i = 0; i < kLanes; ++i)
    if ((i & kStep) == 0) exchange<kStep>(rows[i], rows[i + kStep]);
  if constexpr (2 * kStep < kLanes) exchange_all<2 * kStep>(rows);
}

void transpose_block(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  Vector rows[kLanes];
  for (int i = 0; i < kLanes; ++i) rows[i] = vector_at(from + i * from_stride);
  exchange_all(rows);
  for (int i = 0; i < kLanes; ++i) vector_at(to + i * to_stride) = rows[i];
}

}  // namespace

void multiply_rows(const ProductSizes& sizes, const StridedMatrix& a, const float* b, std::int64_t b_stride,
                   float* dst, std::int64_t dst_stride, const StartRow& start) {
  const Product product{sizes.depth, a.row, a.column, b_stride, dst_stride, start};
  const auto bias_at = [&](std::int64_t c) { return start.row == nullptr ? nullptr : start.row + c; };
  constexpr std::int64_t kWide = 4 * kLanes, kPair = 2 * kLanes;
  std::int64_t c = 0;
  // A single row would wait for each of its sums, so it makes more of them at once.
  if (sizes.rows == 1)
    for (; c + kWide <= sizes.columns; c += kWide)
      panel<1, 4>(product, 1, a.data, b + c, dst + c, bias_at(c));
  for (; c + kPair <= sizes.columns; c += kPair)
    panel<kTileRows, 2>(product, sizes.rows, a.data, b + c, dst + c, bias_at(c));
  for (; c + kLanes <= sizes.columns; c += kLanes)
    panel<kTileRows, 1>(product, sizes.rows, a.data, b + c, dst + c, bias_at(c));
  for (; c < sizes.columns; ++c) column(product, sizes.rows, a.data, b + c, dst + c, bias_at(c));
}

void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               float* to, std::int64_t to_stride) {
  const std::int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  for (std::int64_t r = 0; r < whole_rows; r += kLanes)
    for (std::int64_t c = 0; c < whole_columns; c += kLanes)
      transpose_block(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      to[c * to_stride + r] = from[r * from_stride + c];
}

void add_rows(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) to[c] += from[r * columns + c];
  }
}

}  // namespace trainyard::backend::onednn
