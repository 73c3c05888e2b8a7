#include "study/spec/plan.h"

#include <gtest/gtest.h>

namespace trainyard::study {
namespace {

const auto kAll = [](const GridPoint&) { return true; };

bool is_corner(const GridPoint& point, const std::vector<std::size_t>& sizes) {
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (point[axis] != 0 && point[axis] != sizes[axis] - 1) return false;
  return true;
}

TEST(Sample, WholeGridHasTheLastAxisFastest) {
  EXPECT_EQ(whole_grid({2, 3}), (std::vector<GridPoint>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(whole_grid({}), (std::vector<GridPoint>{{}}));
}

TEST(Sample, HoldsAllCornersAndAnEvenInterior) {
  const std::vector<std::size_t> sizes{9, 6, 9};
  const std::vector<GridPoint> points = sample_grid(sizes, 80, 1, kAll);
  EXPECT_EQ(points.size(), 80u);
  EXPECT_EQ(std::set<GridPoint>(points.begin(), points.end()).size(), 80u);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  std::size_t corners = 0;
  std::vector<std::vector<int>> seen{std::vector<int>(9), std::vector<int>(6), std::vector<int>(9)};
  for (const GridPoint& point : points) {
    if (is_corner(point, sizes)) {
      ++corners;
      continue;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) ++seen[axis][point[axis]];
  }
  EXPECT_EQ(corners, 8u);
  // 72 points on nine values: eight each, but for those that met another and were drawn again.
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (const int count : seen[axis]) EXPECT_NEAR(count, 72.0 / static_cast<double>(sizes[axis]), 3) << axis;
}

TEST(Sample, FollowsFromItsSeed) {
  const std::vector<std::size_t> sizes{9, 6, 9, 4, 5};
  EXPECT_EQ(sample_grid(sizes, 60, 3, kAll), sample_grid(sizes, 60, 3, kAll));
  EXPECT_NE(sample_grid(sizes, 60, 3, kAll), sample_grid(sizes, 60, 4, kAll));
  // 32 corners are more than half of the points.
  std::size_t corners = 0;
  for (const GridPoint& point : sample_grid(sizes, 20, 3, kAll)) corners += is_corner(point, sizes) ? 1 : 0;
  EXPECT_EQ(corners, 10u);
}

TEST(Sample, TakesAllThereIsAndNothingRefused) {
  EXPECT_EQ(sample_grid({3, 4}, 100, 1, kAll), whole_grid({3, 4}));
  const auto odd = [](const GridPoint& point) { return (point[0] + point[1]) % 2 == 1; };
  const std::vector<GridPoint> points = sample_grid({5, 5}, 12, 1, odd);
  EXPECT_EQ(points.size(), 12u);
  for (const GridPoint& point : points) EXPECT_TRUE(odd(point));
  EXPECT_EQ(sample_grid({}, 3, 1, kAll).size(), 1u);
  EXPECT_EQ(sample_grid({1, 7, 1}, 7, 1, kAll), whole_grid({1, 7, 1}));
}

}  // namespace
}  // namespace trainyard::study
