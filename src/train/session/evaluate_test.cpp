#include "train/session/evaluate.h"

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

TEST(LossCurve, FewStepsStayAsTheyAre) {
  LossCurve curve;
  EXPECT_TRUE(curve.points().empty());
  curve.add(0.5, 1, 4);
  curve.add(1.5, 3, 2);
  ASSERT_EQ(curve.points().size(), 2u);
  EXPECT_EQ(curve.points()[0], (LossCurve::Point{0.5, 1, 4}));
  EXPECT_EQ(curve.points()[1], (LossCurve::Point{1.5, 4, 2}));
}

TEST(LossCurve, ManyStepsAreMergedAndNoneIsLost) {
  LossCurve curve;
  constexpr std::int64_t kSteps = 12'345, kGradients = 3;
  double sum = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const double loss = 1000.0 / static_cast<double>(step + 1);
    sum += loss * kGradients;
    curve.add(0.1 * static_cast<double>(step + 1), kGradients, loss);
  }
  const auto& points = curve.points();
  EXPECT_LE(points.size(), LossCurve::kMostPoints);
  EXPECT_GE(points.size(), LossCurve::kMostPoints / 2);
  EXPECT_EQ(points.back().gradients, kSteps * kGradients);
  EXPECT_DOUBLE_EQ(points.back().seconds, 0.1 * kSteps);
  double found = 0;
  std::int64_t before = 0;
  for (const LossCurve::Point& point : points) {
    EXPECT_GT(point.gradients, before);
    found += point.loss * static_cast<double>(point.gradients - before);
    before = point.gradients;
  }
  EXPECT_NEAR(found, sum, 1e-9 * sum);
}

TEST(LossCurve, AddsToMergedPointsByWeight) {
  LossCurve curve;
  for (std::size_t i = 0; i < LossCurve::kMostPoints; ++i) curve.add(static_cast<double>(i), 1, 1);
  curve.add(1000, 3, 1);
  curve.add(1001, 1, 5);
  ASSERT_EQ(curve.points().size(), LossCurve::kMostPoints / 2 + 1);
  EXPECT_EQ(curve.points().back(), (LossCurve::Point{1001, 1004, 2}));
}

TEST(Diverged, WhenTheLastLossesAreAllFarAboveTheFirst) {
  const auto diverged = [](double first, std::vector<double> last) { return has_diverged(first, last); };
  EXPECT_TRUE(diverged(2.3, {2.5e29}));
  EXPECT_TRUE(diverged(2.3, {3000, 1e5, 2e9}));
  EXPECT_TRUE(diverged(1e-4, {1001, 2000}));
  EXPECT_TRUE(diverged(2.3, {1e12, 0, 2e12}));  // a batch of the one class that is left has no loss
  EXPECT_FALSE(diverged(2.3, {}));
  EXPECT_FALSE(diverged(2.3, {2.0, 1.9}));
  EXPECT_FALSE(diverged(2.3, {1e9, 40, 2.5}));  // it came back
  EXPECT_FALSE(diverged(2.3, {100, 200, 400}));
  EXPECT_FALSE(diverged(1e-4, {2.3, 2.3}));  // far above a first loss of a network that had learnt all
  EXPECT_FALSE(diverged(1e6, {2e6, 5e6}));   // it began there
}

}  // namespace
}  // namespace trainyard::train
