#include "record/two_level.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/statistics.h"
#include "record/test_psc_runs.h"
#include "record/test_series.h"

namespace trainyard::record {
namespace {

// Runs at levels that spread by `between` about one, of 60 to 140 steps that spread by `within`.
std::vector<std::vector<double>> made_up_runs(TestNoise& noise, int runs, double between, double within,
                                              double rho) {
  std::vector<std::vector<double>> result;
  for (int run = 0; run < runs; ++run) {
    const double level = 1 + between * noise.normal();
    result.push_back(noise.autoregressive(60 + 20 * (run % 5), rho));
    for (double& value : result.back()) value = level + within * value;
  }
  return result;
}

TEST(TwoLevel, RecoversTwoKnownVarianceComponents) {
  TestNoise noise(1);
  for (const double rho : {0.0, 0.6}) {
    std::vector<double> between, within;
    for (int i = 0; i < 400; ++i) {
      const TwoLevel result = describe_runs(made_up_runs(noise, 10, 0.05, 0.1, rho));
      between.push_back(result.between_variance);
      within.push_back(result.within_variance);
    }
    // 400 estimates with 9 degrees of freedom: a standard error of about 3 %.
    EXPECT_NEAR(mean(between) / (0.05 * 0.05), 1, 0.1) << rho;
    EXPECT_NEAR(mean(within) / (0.1 * 0.1), 1, 0.03) << rho;
  }
}

TEST(TwoLevel, FindsNoSpreadOfRunsWhereThereIsNone) {
  TestNoise noise(2);
  std::vector<double> between;
  for (int i = 0; i < 200; ++i)
    between.push_back(describe_runs(made_up_runs(noise, 10, 0, 0.1, 0.6)).between_variance);
  EXPECT_LT(mean(between), 0.1 * 0.1 / 100);  // cut off at zero, so not zero on average
  EXPECT_EQ(quantile(between, 0.3), 0);
}

TEST(TwoLevel, IntervalCoversTheMeanOverRuns) {
  TestNoise noise(3);
  int covered = 0;
  for (int i = 0; i < 1000; ++i) {
    const Interval interval = describe_runs(made_up_runs(noise, 5, 0.05, 0.1, 0.5)).interval;
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_NEAR(covered / 1000.0, 0.95, 0.02);
}

TEST(TwoLevel, OfOneRunHasNoSpread) {
  const std::vector<std::vector<double>> runs{{1, 2, 3}};
  const TwoLevel result = describe_runs(runs);
  EXPECT_DOUBLE_EQ(result.mean, 2);
  EXPECT_DOUBLE_EQ(result.interval.half_width(), 0);
  EXPECT_DOUBLE_EQ(result.within_variance, 1);
}

// Run to run, the published speeds of one configuration spread by 10 to 36 %.
TEST(TwoLevel, SpreadOfThePublishedRuns) {
  const struct {
    const char* gpu;
    int gpus;
    double spread;
  } published[] = {
      {"k80", 1, 0.36}, {"k80", 2, 0.26}, {"k80", 4, 0.21}, {"p100", 1, 0.10}, {"p100", 2, 0.16}};
  std::size_t seen = 0;
  for (const auto& expected : published) {
    std::vector<std::vector<double>> runs;
    for (const PscRow& row : kPscRows) {
      if (row.gpu != std::string(expected.gpu) || row.gpus != expected.gpus) continue;
      runs.push_back({row.local});
      if (row.scratch_node != nullptr) runs.push_back({row.scratch});
    }
    seen += runs.size();
    EXPECT_NEAR(describe_runs(runs).run_spread, expected.spread, 0.01) << expected.gpu << expected.gpus;
  }
  EXPECT_EQ(seen, 58u);
}

TEST(PlannedRuns, AreEnoughForTheWidth) {
  EXPECT_EQ(runs_for_half_width(0, 0.02), 2);
  const int runs = runs_for_half_width(0.05, 0.02);
  // 1.96 * 5 % / sqrt(n) = 2 % at n = 24; Student's quantile asks for some more.
  EXPECT_GE(runs, 25);
  EXPECT_LE(runs, 28);
}

TEST(PlannedRuns, GrowWithSpreadAndFallWithEffect) {
  // Two-sided 5 % level, power 80 %: 2 (2.8 spread / log 1.05)^2 = 6.6, and Student's quantiles.
  EXPECT_NEAR(runs_for_effect(0.03, 0.05), 8, 1);
  EXPECT_GT(runs_for_effect(0.06, 0.05), 20);
  EXPECT_LT(runs_for_effect(0.03, 0.10), 5);
  EXPECT_GT(runs_for_effect(0.03, 0.05, 0.04), runs_for_effect(0.03, 0.05));
}

}  // namespace
}  // namespace trainyard::record
