#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include "stats/statistics.h"
#include "stats/test_series.h"

namespace trainyard::stats {

namespace {

bool covers(const Interval& interval, double truth) {
  return interval.low <= truth && truth <= interval.high;
}

Interval naive_interval(std::span<const double> samples) {
  const double reach = 1.96 * std::sqrt(sample_variance(samples) / static_cast<double>(samples.size()));
  return {mean(samples) - reach, mean(samples) + reach};
}

struct Case {
  double rho;
  int steps;
  double naive_at_most;  // its coverage; 1: it does well
};

class Coverage : public testing::TestWithParam<Case> {};

// The mean of autoregressive noise is known: 95 % of the intervals should hold it. With 1000 series the
// share has a standard error of 0.69 %.
TEST_P(Coverage, OfTheMeanIsNominalWhereTheNaiveIntervalFails) {
  const auto [rho, steps, naive_at_most] = GetParam();
  constexpr int kSeries = 1000;
  TestNoise noise(steps);
  int covered = 0, covered_by_naive = 0;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> series = noise.steps(steps, 0.05, 0.03, rho);
    covered += covers(mean_interval(series), 0.05);
    covered_by_naive += covers(naive_interval(series), 0.05);
  }
  const double share = covered / double{kSeries}, naive_share = covered_by_naive / double{kSeries};
  RecordProperty("coverage", std::to_string(share));
  RecordProperty("naive_coverage", std::to_string(naive_share));
  EXPECT_GE(share, 0.93);
  EXPECT_LE(share, 0.97);
  EXPECT_LE(naive_share, naive_at_most);
}

INSTANTIATE_TEST_SUITE_P(Autoregressive, Coverage,
                         testing::Values(Case{0, 200, 1}, Case{0.3, 200, 0.90}, Case{0.6, 200, 0.75},
                                         Case{0.6, 400, 0.75}, Case{0.8, 300, 0.60}),
                         [](const testing::TestParamInfo<Case>& test) {
                           return "Rho" + std::to_string(static_cast<int>(10 * test.param.rho)) + "Steps" +
                                  std::to_string(test.param.steps);
                         });

TEST(BlockBootstrap, CoversTheMedianOfSkewedSteps) {
  TestNoise noise(3);
  int covered = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<double> series = noise.autoregressive(200, 0.6);
    for (double& value : series) value = std::exp(0.3 * value);  // median 1
    covered += covers(median_interval(series), 1);
  }
  EXPECT_GE(covered, 455);  // 91 %: two standard errors below 93 %
}

TEST(BlockBootstrap, GivesTheSameIntervalEachTime) {
  const std::vector<double> series = TestNoise(4).steps(100, 1, 0.1, 0.5);
  EXPECT_EQ(mean_interval(series).low, mean_interval(series).low);
  EXPECT_EQ(median_interval(series).high, median_interval(series).high);
}

TEST(BlockBootstrap, CountsAutocorrelatedStepsForFewer) {
  // Theory gives n (1 - rho) / (1 + rho).
  TestNoise noise(5);
  EXPECT_NEAR(mean_error(noise.autoregressive(20'000, 0.6)).effective_samples, 5000, 750);
  EXPECT_NEAR(mean_error(noise.autoregressive(4000, 0)).effective_samples, 4000, 400);
  EXPECT_NEAR(lag1_autocorrelation(noise.autoregressive(20'000, 0.6)), 0.6, 0.02);
}

TEST(BlockBootstrap, TakesFewOrConstantSamples) {
  EXPECT_EQ(mean_interval(std::vector<double>{2}).half_width(), 0);
  EXPECT_EQ(median_interval(std::vector<double>{2}).low, 2);
  const std::vector<double> constant(50, 3.0);
  EXPECT_EQ(mean_interval(constant).low, 3);
  EXPECT_EQ(mean_error(constant).effective_samples, 50);
  // Student's interval of {1, 2, 3} is 2 +- 4.3027 / sqrt(3).
  EXPECT_NEAR(mean_interval(std::vector<double>{1, 2, 3}).high, 2 + 4.30265 / std::sqrt(3.0), 1e-4);
  for (int n = 2; n < 40; ++n) {
    const Interval interval = mean_interval(TestNoise(n).steps(n, 1, 0.1));
    EXPECT_TRUE(std::isfinite(interval.low) && interval.low < interval.high) << n;
  }
}

TEST(BlockLength, GrowsWithDependence) {
  TestNoise noise(6);
  const std::vector<double> white = noise.autoregressive(1000, 0), red = noise.autoregressive(1000, 0.8);
  EXPECT_LE(block_length(white), 15);
  EXPECT_GE(block_length(red), 20);
  EXPECT_EQ(block_length(std::vector<double>(5, 0.0)), 1);
}

TEST(Autoregression, FindsItsCoefficients) {
  TestNoise noise(7);
  std::vector<double> series{0, 0};
  for (int i = 2; i < 5000; ++i) series.push_back(0.5 * series[i - 1] + 0.3 * series[i - 2] + noise.normal());
  const int order = Autoregression::choose_order(series);
  EXPECT_GE(order, 2);
  EXPECT_NEAR(Autoregression::fit(series, 2).gain(), 5, 0.5);
  std::vector<double> innovations(series.size() - 2);
  Autoregression::fit(series, 2).innovations(series, innovations);
  EXPECT_NEAR(lag1_autocorrelation(innovations), 0, 0.03);
  EXPECT_NEAR(population_variance(innovations), 1, 0.06);
}

}  // namespace

}  // namespace trainyard::stats
