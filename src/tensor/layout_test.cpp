#include "tensor/layout.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard {
namespace {

TEST(Shape, RoundTripsItsText) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{128, 3, 24, 24}, Shape{1, 2, 3, 4, 5, 6}, Shape{0}})
    EXPECT_EQ(Shape::parse(shape.to_string()), shape) << shape.to_string();
  for (const char* text : {"", "x", "3x", "x3", "3xx3", "-3", "3x-1", "3,3", "1x2x3x4x5x6x7", "Scalar", " 3",
                           "99999999999999999999"})
    expect_error(ErrorKind::config, "shape '", [&] { Shape::parse(text); });
}

TEST(Layout, RoundTripsItsName) {
  for (const char* name : {"plain", "acdb", "aBcd16b", "ABcd16b16a", "Acdb16a", "aBCde16c16b"})
    EXPECT_EQ(Layout::parse(name).to_string(), name);
  EXPECT_TRUE(Layout::parse("abcd").is_plain());
  EXPECT_EQ(Layout::channels_last(4).to_string(), "acdb");
}

TEST(Layout, OffsetsAreAPermutationOfThePaddedTensor) {
  const Shape shape{2, 5, 3, 4};
  for (const char* name : {"plain", "acdb", "aBcd4b", "ABcd2b2a", "ABcd4b2a2b"}) {
    const Layout layout = Layout::parse(name);
    const LayoutIndex index(layout, shape);
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::int64_t offset = index.offset_of(i);
      EXPECT_GE(offset, 0);
      EXPECT_LT(offset, layout.elements(shape));
      EXPECT_TRUE(seen.insert(offset).second) << name << " maps two elements to " << offset;
    }
  }
}

TEST(Layout, KnownOffsets) {
  // nChw4c: (n=1, c=5, h=2, w=3) of 2x8x3x4.
  const LayoutIndex blocked(Layout::parse("aBcd4b"), {2, 8, 3, 4});
  const std::int64_t at[] = {1, 5, 2, 3};
  EXPECT_EQ(blocked.offset_of(at), ((1 * 2 + 1) * 12 + (2 * 4 + 3)) * 4 + 1);
  // OIhw2i4o: the block of outputs is innermost.
  const LayoutIndex weights(Layout::parse("ABcd2b4a"), {8, 4, 1, 1});
  const std::int64_t w[] = {5, 3, 0, 0};
  EXPECT_EQ(weights.offset_of(w), (1 * 2 + 1) * 8 + 1 * 4 + 1);
}

TEST(Layout, AxesOfLengthOneDoNotMatter) {
  const Layout plain, last = Layout::channels_last(4);
  EXPECT_TRUE(Layout::same_placement(plain, last, {4, 1, 5, 6}));
  EXPECT_TRUE(Layout::same_placement(plain, last, {4, 7, 1, 1}));
  EXPECT_FALSE(Layout::same_placement(plain, last, {4, 2, 5, 6}));
  EXPECT_FALSE(Layout::same_placement(plain, Layout::parse("aBcd16b"), {4, 16, 1, 2}));
}

TEST(Layout, PadsBlockedAxesOnly) {
  const Layout layout = Layout::parse("aBcd16b");
  EXPECT_EQ(layout.padded({2, 10, 3, 3}), (Shape{2, 16, 3, 3}));
  EXPECT_TRUE(layout.pads({2, 10, 3, 3}));
  EXPECT_FALSE(layout.pads({2, 32, 3, 3}));
}

}  // namespace
}  // namespace trainyard
