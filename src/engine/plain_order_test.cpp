#include "engine/plain_order.h"

#include <gtest/gtest.h>

namespace trainyard::engine {
namespace {

struct Case {
  const char* layout;
  Shape shape;
};

class PlainOrderTest : public testing::TestWithParam<Case> {};

// Every piece of the tensor, cut at odd places, agrees with the layout's own index.
TEST_P(PlainOrderTest, GathersAndScattersAnyRange) {
  const auto& [name, shape] = GetParam();
  const Layout layout = Layout::parse(name);
  const LayoutIndex index(layout, shape);
  const PlainOrder order(layout, shape, DType::f32);
  const auto physical = static_cast<std::size_t>(layout.elements(shape));
  std::vector<float> tensor(physical), copy(physical, -1.0f);
  std::iota(tensor.begin(), tensor.end(), 0.0f);
  const std::int64_t count = shape.elements();
  std::vector<float> plain(static_cast<std::size_t>(count));
  const std::int64_t piece = count / 3 + 1;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = std::min(count, begin + piece);
    auto* at = reinterpret_cast<std::byte*>(plain.data() + begin);
    order.gather(reinterpret_cast<std::byte*>(tensor.data()), begin, end, at);
    order.scatter(at, begin, end, reinterpret_cast<std::byte*>(copy.data()));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto there = static_cast<std::size_t>(index.offset_of(i));
    ASSERT_EQ(plain[static_cast<std::size_t>(i)], tensor[there]) << "element " << i;
    ASSERT_EQ(copy[there], tensor[there]) << "element " << i;
  }
  const auto padding = std::count(copy.begin(), copy.end(), -1.0f);
  EXPECT_EQ(padding, static_cast<std::ptrdiff_t>(physical) - count) << "padding was written";
}

INSTANTIATE_TEST_SUITE_P(Layouts, PlainOrderTest,
                         testing::Values(Case{"plain", {7, 5, 3}}, Case{"ba", {300, 257}},
                                         Case{"acdb", {4, 19, 6, 5}}, Case{"aBcd16b", {3, 20, 7, 7}},
                                         Case{"ABcd16b16a", {40, 24, 3, 3}}, Case{"AB16b64a", {70, 1000}},
                                         Case{"ABcd4b16a4b", {20, 40, 5, 5}}, Case{"Acdb16a", {32, 3, 5, 5}},
                                         Case{"ba", {2, 100000}}));

TEST(PlainOrder, MovesEveryElementSize) {
  const Shape shape{3, 5};
  const Layout layout = Layout::parse("ba");
  for (const DType dtype : {DType::u8, DType::bf16, DType::i32, DType::f64}) {
    const std::size_t size = size_of(dtype), bytes = size * 15;
    std::vector<std::byte> tensor(bytes), plain(bytes), back(bytes);
    for (std::size_t i = 0; i < bytes; ++i) tensor[i] = static_cast<std::byte>(i);
    const PlainOrder order(layout, shape, dtype);
    order.gather(tensor.data(), 0, 15, plain.data());
    order.scatter(plain.data(), 0, 15, back.data());
    EXPECT_EQ(back, tensor);
    // Element (0, 1) lies third in the transposed tensor.
    EXPECT_EQ(std::memcmp(plain.data() + size, tensor.data() + 3 * size, size), 0);
  }
}

}  // namespace
}  // namespace trainyard::engine
