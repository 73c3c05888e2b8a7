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

template <int kRows, int kVectors>
void tile(const Product& product, const float* a, const float* b, float* dst, const float* bias) {
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = product.start.dst ? vector_at(dst + r * product.dst_stride + v * kLanes)
                   : bias != nullptr ? vector_at(bias + v * kLanes)
                                     : Vector{};
  for (std::int64_t k = 0; k < product.depth; ++k) {
    Vector row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = vector_at(b + k * product.b_stride + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const float factor = a[r * product.a_row + k * product.a_column];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * row[v];
    }
  }
  for (int r = 0; r < kRows; ++r)
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

void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
}

void add_rows(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) to[c] += from[r * columns + c];
  }
}

}  // namespace trainyard::backend::onednn
