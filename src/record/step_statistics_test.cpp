#include "record/step_statistics.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "record/statistics.h"
#include "record/test_series.h"

namespace trainyard::record {
namespace {

TEST(StepStatistics, LeaveOutTheWarmUpButNotFromTheLegacyMetrics) {
  std::vector<double> steps = TestNoise(1).steps(120, 0.1, 0.02);
  for (std::size_t i = 0; i < 20; ++i) steps[i] *= 3;
  steps[70] = 2;
  const StepStatistics result = describe_steps(steps, 50);
  EXPECT_EQ(result.steps, 120);
  EXPECT_EQ(result.unsteady_steps, 20);
  EXPECT_TRUE(result.steady);
  EXPECT_NEAR(result.median, 0.1, 0.002);
  EXPECT_DOUBLE_EQ(result.max, 2);
  EXPECT_EQ(result.outliers, std::vector<std::int64_t>{70});
  EXPECT_DOUBLE_EQ(result.legacy.mean_seconds, mean(steps));
  EXPECT_LT(result.mean, result.legacy.mean_seconds);
}

TEST(StepStatistics, AreOrdered) {
  const StepStatistics result = describe_steps(TestNoise(2).steps(300, 1, 0.1, 0.5), 8);
  const std::vector<double> order{result.min, result.p5,  result.p25, result.median,
                                  result.p75, result.p95, result.p99, result.max};
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_LT(result.mean_interval.low, result.mean);
  EXPECT_LT(result.mean, result.mean_interval.high);
  EXPECT_LE(result.median_interval.low, result.median);
  EXPECT_LE(result.median, result.median_interval.high);
  EXPECT_NEAR(result.lag1_autocorrelation, 0.5, 0.15);
  EXPECT_LT(result.effective_samples, 200);
  EXPECT_GE(result.block_steps, 1);
}

TEST(StepStatistics, OfNoStepsAndOfOne) {
  EXPECT_EQ(describe_steps({}, 8).steps, 0);
  const StepStatistics one = describe_steps(std::vector<double>{0.25}, 8);
  EXPECT_EQ(one.steps, 1);
  EXPECT_DOUBLE_EQ(one.median, 0.25);
  EXPECT_DOUBLE_EQ(one.mean_interval.high, 0.25);
  EXPECT_DOUBLE_EQ(one.effective_samples, 1);
}

}  // namespace
}  // namespace trainyard::record
