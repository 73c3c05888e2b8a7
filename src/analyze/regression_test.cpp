#include "analyze/regression.h"

#include <gtest/gtest.h>

#include "analyze/test_points.h"
#include "base/error.h"
#include "base/philox.h"
#include "stats/least_squares.h"

namespace trainyard::analyze {
namespace {

// speed = layers^-1 * width^2 over a grid, inputs always 7.
std::vector<Point> grid() {
  std::vector<Point> points;
  for (const std::int64_t layers : {1, 2, 4, 8})
    for (const std::int64_t width : {16, 32, 64, 128})
      points.push_back(make_point({{"layers", layers}, {"width", width}, {"inputs", 7}},
                                  {{"speed", std::pow(width, 2) / static_cast<double>(layers)}}));
  return points;
}

TEST(Regression, OneDimensionIsCorrelation) {
  std::vector<Point> points;
  for (const auto& [x, y] : {std::pair{1, 2.0}, {2, 1.0}, {3, 4.0}, {4, 3.0}})
    points.push_back(make_point({{"x", x}, {"c", 5}}, {{"y", y}}));
  const Regression found = standardised_weights(points, {"x", "c"}, "y", 1);
  EXPECT_NEAR(found.weights[0], 0.6, 1e-12);
  EXPECT_EQ(found.weights[1], 0);  // does not vary
  EXPECT_NEAR(found.r2, 0.36, 1e-12);
  // The residuals of y, in deviations (sqrt 1.25), are those of 2 1 4 3 less 0.6 of those of 1 2 3 4.
  EXPECT_NEAR(found.mean_absolute_error, (0.4 + 1.2 + 1.2 + 0.4) / 4 / std::sqrt(1.25), 1e-12);
}

TEST(Regression, OrderTwoExplainsAProduct) {
  std::vector<Point> points = grid();
  for (Point& point : points) point.metrics["area"] = point.key("layers") * point.key("width");
  const Regression first = standardised_weights(points, {"layers", "width"}, "area", 1),
                   second = standardised_weights(points, {"layers", "width"}, "area", 2);
  EXPECT_LT(first.r2, 0.95);
  EXPECT_NEAR(second.r2, 1, 1e-12);
  EXPECT_EQ(second.features, (std::vector<std::string>{"layers", "width", "layers x layers", "layers x width",
                                                       "width x width"}));
  EXPECT_NEAR(second.weights[3], 1, 1e-9);
}

TEST(Regression, SaysWhatIsMissing) {
  EXPECT_THROW(standardised_weights(grid(), {"layers"}, "nothing", 1), Error);
  EXPECT_THROW(standardised_weights(grid(), {"batch"}, "speed", 1), Error);
  EXPECT_THROW(fit_power_law(grid(), {"layers"}, "speed", 1, 17), Error);
}

TEST(LogRegression, FindsExponents) {
  const LogRegression found = fit_power_law(grid(), {"layers", "width", "inputs"}, "speed", 1, 4);
  EXPECT_NEAR(found.coefficients[0], -1, 1e-9);
  EXPECT_NEAR(found.coefficients[1], 2, 1e-9);
  EXPECT_NEAR(found.r2, 1, 1e-12);
  EXPECT_NEAR(found.cross_validated_r2, 1, 1e-12);
}

TEST(LogRegression, CrossValidationSeesThroughNoise) {
  std::vector<Point> points = grid();
  const Philox noise(5, 5);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].metrics["noise"] = std::exp2(4 * to_unit_float(noise.word(i)));
  const LogRegression found = fit_power_law(points, {"layers", "width"}, "noise", 2, 4);
  EXPECT_GT(found.r2, 0.1);
  EXPECT_LT(found.cross_validated_r2, 0.05);
}

TEST(Logistic, SeparatesWhatCanBeSeparated) {
  std::vector<Point> points;
  for (std::int64_t x = 1; x <= 40; ++x)
    points.push_back(make_point({{"x", x}}, {{"ratio", x > 30 ? 2 : 0.5}}));
  const Classification found = classify_above(points, {"x"}, "ratio", 1, false, 5);
  EXPECT_NEAR(found.base_rate, 0.25, 1e-12);
  EXPECT_NEAR(found.accuracy, 1, 1e-12);
  EXPECT_GE(found.cross_validated_accuracy, 0.95);
  EXPECT_TRUE(std::isfinite(found.weights[0]));
  EXPECT_GT(found.weights[0], 1);
}

TEST(Logistic, KnowsTheLogOddsOfAnOverlap) {
  // Ten of 40 points at 0 are above, and thirty of 40 at 1. Log odds differ by 2 log 3; one deviation is 1/2.
  std::vector<Point> points;
  for (int i = 0; i < 80; ++i)
    points.push_back(make_point({{"x", i % 2}}, {{"ratio", (i / 2) % 4 < (i % 2 == 0 ? 1 : 3) ? 2 : 0.5}}));
  const Classification found = classify_above(points, {"x"}, "ratio", 1, false);
  EXPECT_NEAR(found.weights[0], std::log(3.0), 0.01);
  EXPECT_NEAR(found.intercept, 0, 1e-9);
  EXPECT_NEAR(found.accuracy, 0.75, 1e-9);
}

TEST(Folds, AreEqualFixedAndKeepGroupsTogether) {
  const std::vector<int> fold = stats::assign_folds(103, 10, 3);
  for (int f = 0; f < 10; ++f) {
    const auto size = std::count(fold.begin(), fold.end(), f);
    EXPECT_TRUE(size == 10 || size == 11) << size;
  }
  EXPECT_EQ(fold, stats::assign_folds(103, 10, 3));
  EXPECT_NE(fold, stats::assign_folds(103, 10, 4));
  const std::vector<int> groups = stats::assign_group_folds({0, 1, 2, 0, 1, 2}, 3, 1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(groups[i], groups[i + 3]);
  EXPECT_EQ(groups[0] + groups[1] + groups[2], 3);
}

}  // namespace
}  // namespace trainyard::analyze
