#include "backend/onednn/runtime/row_product.h"

#include <gtest/gtest.h>

namespace trainyard::backend::onednn {
namespace {

std::vector<float> waves(std::int64_t count, double phase) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + phase)));
  return numbers;
}

// Rows of b and dst lie 3 apart from each other; what lies between them must stay.
void expect_product(const ProductSizes& sizes, bool is_transposed, const StartRow& start) {
  const auto [rows, columns, depth] = sizes;
  const std::int64_t stride = columns + 3;
  const auto a = waves(rows * depth, 0), b = waves(depth * stride, 1);
  const auto before = waves(rows * stride, 2);
  auto dst = before;
  const StridedMatrix left = is_transposed ? transposed(a.data(), rows) : rows_of(a.data(), depth);
  multiply_rows(sizes, left, b.data(), stride, dst.data(), stride, start);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < stride; ++c) {
      const auto at = static_cast<std::size_t>(r * stride + c);
      if (c >= columns) {
        ASSERT_EQ(dst[at], before[at]);
        continue;
      }
      double sum = start.dst ? double{before[at]} : start.row != nullptr ? double{start.row[c]} : 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum +=
            double{left.data[r * left.row + k * left.column]} * b[static_cast<std::size_t>(k * stride + c)];
      ASSERT_NEAR(dst[at], sum, 1e-4) << rows << "x" << columns << "x" << depth << " at " << r << ", " << c;
    }
}

TEST(RowProduct, EqualsSumsOfProductsAtAllSizes) {
  const auto bias = waves(200, 3);
  for (const std::int64_t rows : {0, 1, 2, 3, 5, 8, 9, 15, 17})
    for (const std::int64_t columns : {1, 7, 8, 15, 16, 17, 32, 33, 63, 64, 65, 130})
      for (const std::int64_t depth : {0, 1, 2, 19})
        for (const bool is_transposed : {false, true})
          for (const StartRow& start : {StartRow::zero(), StartRow::add(), StartRow::bias(bias.data())})
            expect_product({rows, columns, depth}, is_transposed, start);
}

TEST(RowProduct, TransposesAndAddsRows) {
  const std::vector<float> from{1, 2, 3, 4, 5, 6};
  std::vector<float> to(6), sums{10, 20, 30};
  transpose(from.data(), 2, 3, to.data());
  EXPECT_EQ(to, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  add_rows(from.data(), 2, 3, sums.data());
  EXPECT_EQ(sums, (std::vector<float>{15, 27, 39}));
}

// The product must leave alone what lies between the rows.
TEST(RowProduct, TransposesBlocksAndTheRest) {
  for (const std::int64_t rows : {1, 7, 8, 16, 17, 33})
    for (const std::int64_t columns : {1, 8, 15, 16, 32, 35}) {
      const std::int64_t from_stride = columns + 2, to_stride = rows + 3;
      const auto from = waves(rows * from_stride, 0), before = waves(columns * to_stride, 1);
      auto to = before;
      transpose(from.data(), from_stride, rows, columns, to.data(), to_stride);
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = 0; r < to_stride; ++r) {
          const auto at = static_cast<std::size_t>(c * to_stride + r);
          ASSERT_EQ(to[at], r < rows ? from[static_cast<std::size_t>(r * from_stride + c)] : before[at])
              << rows << "x" << columns << " at " << r << ", " << c;
        }
    }
}

}  // namespace
}  // namespace trainyard::backend::onednn
