#include "stats/least_squares.h"

#include <gtest/gtest.h>

namespace trainyard::stats {

namespace {

TEST(LeastSquares, SolvesAndMinimises) {
  // y = 2 + 3 x, with errors that are orthogonal to both columns: 1, -2, 1.
  Matrix a(3, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    a(i, 0) = 1;
    a(i, 1) = static_cast<double>(i);
  }
  const std::vector<double> x = solve_least_squares(a, {3, 3, 9});
  EXPECT_NEAR(x[0], 2, 1e-12);
  EXPECT_NEAR(x[1], 3, 1e-12);
}

TEST(LeastSquares, ColumnsThatDependGetZero) {
  Matrix a(4, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto x = static_cast<double>(i + 1);
    a(i, 0) = x * x;
    a(i, 1) = 0;
    a(i, 2) = x;
    a(i, 3) = 2 * x * x;
  }
  const std::vector<double> x = solve_least_squares(a, {7, 14, 21, 28});
  EXPECT_EQ(x[1], 0);
  EXPECT_NEAR(x[2], 7, 1e-10);
  EXPECT_NEAR(x[0] + 2 * x[3], 0, 1e-10);
  EXPECT_TRUE(x[0] == 0 || x[3] == 0);
}

TEST(LeastSquares, MoreColumnsThanRows) {
  Matrix a(1, 3);
  a(0, 1) = 4;
  EXPECT_EQ(solve_least_squares(a, {8}), (std::vector<double>{0, 2, 0}));
}

TEST(RobustFit, FindsACurveAmongWildPoints) {
  // y = exp(-k x) with k = 0.7, every seventh point far off.
  const auto residuals_of = [](const std::vector<double>& k, std::vector<double>& residuals) {
    residuals.clear();
    for (int i = 0; i < 35; ++i) {
      const double x = 0.1 * i, wild = i % 7 == 3 ? 5 : 0;
      residuals.push_back(std::exp(-k[0] * x) - std::exp(-0.7 * x) - wild);
    }
  };
  const RobustFit robust = fit_robustly({2}, 0.01, residuals_of),
                  plain = fit_robustly({2}, 1e9, residuals_of);
  EXPECT_NEAR(robust.parameters[0], 0.7, 0.02);
  EXPECT_GT(std::abs(plain.parameters[0] - 0.7), 0.3);
  EXPECT_GT(robust.rounds, 1);
}

}  // namespace

}  // namespace trainyard::stats
