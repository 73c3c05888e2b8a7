#pragma once

#include "base/standard.h"

// Small matrix products in the calling thread: for kernels whose threads each have work of their own that
// fits the cache, where a product by all threads would have them wait for each other. Sums are made in an
// order that depends on the sizes alone.
namespace trainyard::backend::onednn {

// A StartRow gives the initial value of a dst: zeros, itself, or the same row everywhere.
struct StartRow {
  const float* row = nullptr;
  bool dst = false;

  static StartRow zero() { return {}; }
  static StartRow add() { return {nullptr, true}; }
  static StartRow bias(const float* row) { return {row, false}; }
};

// Element (i, k) lies at data[i * row + k * column].
struct StridedMatrix {
  const float* data;
  std::int64_t row, column;
};
inline StridedMatrix rows_of(const float* data, std::int64_t stride) { return {data, stride, 1}; }
inline StridedMatrix transposed(const float* data, std::int64_t stride) { return {data, 1, stride}; }

struct ProductSizes {
  std::int64_t rows, columns, depth;
};

// dst (rows, columns) = start + a (rows, depth) b (depth, columns); rows of b and dst are contiguous.
void multiply_rows(const ProductSizes& sizes, const StridedMatrix& a, const float* b, std::int64_t b_stride,
                   float* dst, std::int64_t dst_stride, const StartRow& start);

// to (columns, rows) = from (rows, columns); the strides are those of rows.
void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               float* to, std::int64_t to_stride);
inline void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  transpose(from, columns, rows, columns, to, rows);
}

// to (columns) += sum of the rows of from
void add_rows(const float* from, std::int64_t rows, std::int64_t columns, float* to);

}  // namespace trainyard::backend::onednn
