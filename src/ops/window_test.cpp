#include "ops/window.h"

#include <gtest/gtest.h>

namespace trainyard::ops {
namespace {

TEST(Window, SamePaddingHalves24To12To6) {
  const Window2d first = with_same_padding(square_window(3, 2), 24, 24);
  EXPECT_EQ(first.output_h(24), 12);
  EXPECT_EQ(first.output_w(24), 12);
  EXPECT_EQ(with_same_padding(square_window(3, 2), 12, 12).output_h(12), 6);
  // The odd row and column go below and right.
  EXPECT_EQ(first.pad_top, 0);
  EXPECT_EQ(first.pad_left, 0);
  EXPECT_EQ(first.pad_bottom, 1);
  EXPECT_EQ(first.pad_right, 1);
}

TEST(Window, SamePaddingIsCeilOfSizeOverStride) {
  for (const std::int64_t kernel : {1, 2, 3, 5, 7})
    for (const std::int64_t stride : {1, 2, 3, 4})
      for (std::int64_t size = 4; size < 20; ++size) {
        const Window2d window = with_same_padding(square_window(kernel, stride), size, size);
        EXPECT_EQ(window.output_h(size), (size + stride - 1) / stride);
        EXPECT_LE(window.pad_bottom - window.pad_top, 1);
        EXPECT_GE(window.pad_bottom - window.pad_top, 0);
      }
}

TEST(Window, CeilCountsTheLastPartialWindow) {
  EXPECT_EQ(square_window(3, 2).output_h(8), 3);
  EXPECT_EQ(with_ceil(square_window(3, 2), 8, 8).output_h(8), 4);
  EXPECT_EQ(with_ceil(square_window(3, 2), 9, 9).output_h(9), 4);
}

TEST(Window, Text) {
  EXPECT_EQ(square_window(5, 2, 2).to_string(), "5x5 stride 2 pad 2");
  EXPECT_EQ(with_same_padding(square_window(3, 2), 8, 8).to_string(), "3x3 stride 2 pad 0,0,1,1");
}

}  // namespace
}  // namespace trainyard::ops
