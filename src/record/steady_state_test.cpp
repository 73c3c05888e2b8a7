#include "record/steady_state.h"

#include <gtest/gtest.h>

#include "stats/change_points.h"
#include "stats/statistics.h"
#include "stats/test_series.h"

namespace trainyard::record {

namespace {

using Level = std::function<double(int)>;

std::vector<double> series(int steps, const Level& level, double spread, double rho, std::uint64_t seed) {
  std::vector<double> result = stats::TestNoise(seed).steps(steps, 1, spread, rho);
  for (int i = 0; i < steps; ++i) result[static_cast<std::size_t>(i)] *= level(i);
  return result;
}

// Found counts the results in 200 series of the same kind.
struct Found {
  std::vector<double> prefixes;  // of those with a steady state
  int steady = 0, discarding = 0;
};

Found find_in_many(int steps, const Level& level, double spread, double rho) {
  Found found;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const SteadyState state = find_steady_state(series(steps, level, spread, rho, seed));
    found.steady += state.steady;
    found.discarding += state.unsteady_steps > 0;
    EXPECT_TRUE(state.steady || state.unsteady_steps == 0);
    if (state.steady) found.prefixes.push_back(static_cast<double>(state.unsteady_steps));
  }
  return found;
}

const Level kFlat = [](int) { return 1.0; };

TEST(SteadyState, DiscardsADecayingPrefix) {
  const Level decay = [](int i) { return 1 + std::exp(-i / 10.0); };  // below 3 % after 35 steps
  for (const double rho : {0.0, 0.6}) {
    const Found found = find_in_many(400, decay, 0.02, rho);
    EXPECT_GE(found.steady, 190);
    EXPECT_GE(stats::quantile(found.prefixes, 0.05), 15) << rho;
    EXPECT_LE(stats::quantile(found.prefixes, 0.95), 70) << rho;
  }
}

TEST(SteadyState, ASteadyPlateauBeforeADropIsWarmUp) {
  for (const int end : {30, 120}) {
    const Found found = find_in_many(
        200, [end](int i) { return i < end ? 1.2 : 1.0; }, 0.02, 0.3);
    EXPECT_GE(found.steady, 190);
    EXPECT_EQ(stats::quantile(found.prefixes, 0.1), end);
    EXPECT_EQ(stats::quantile(found.prefixes, 0.9), end);
  }
}

TEST(SteadyState, RarelyDiscardsFromASeriesWithoutWarmUp) {
  for (const int steps : {10, 30, 200, 1000})
    EXPECT_LE(find_in_many(steps, kFlat, 0.03, 0).discarding, 10) << steps;
  for (const int steps : {200, 1000}) {
    const Found found = find_in_many(steps, kFlat, 0.03, 0.6);
    EXPECT_LE(found.discarding, 10) << steps;
    EXPECT_GE(found.steady, 190) << steps;
  }
}

TEST(SteadyState, SaysWhenASeriesNeverSettles) {
  const Level straight = [](int i) { return 1.5 - 0.5 * i / 300; };
  const Level slow = [](int i) { return 1 + std::exp(-i / 300.0); };
  for (const Level& level : {straight, slow}) {
    EXPECT_LE(find_in_many(300, level, 0.01, 0).steady, 10);
    EXPECT_LE(find_in_many(300, level, 0.01, 0.6).steady, 20);
  }
}

TEST(SteadyState, SingleSpikesAreNoWarmUp) {
  std::vector<double> steps = series(200, kFlat, 0.02, 0, 1);
  for (const std::size_t spike : {40u, 41u, 120u, 199u}) steps[spike] = 8;
  EXPECT_TRUE(find_steady_state(steps).steady);
  EXPECT_EQ(find_steady_state(steps).unsteady_steps, 0);
}

TEST(SteadyState, ADisturbanceThatPassesIsNoWarmUp) {
  const Found found = find_in_many(
      300, [](int i) { return i > 120 && i < 180 ? 1.3 : 1.0; }, 0.02, 0);
  EXPECT_GE(found.steady, 190);
  EXPECT_LE(found.discarding, 10);
}

TEST(SteadyState, DiscardsTheFirstSlowSteps) {
  for (const int slow : {1, 2, 3}) {
    const Found found = find_in_many(
        50, [slow](int i) { return i < slow ? 5.0 : 1.0; }, 0.03, 0);
    EXPECT_EQ(stats::quantile(found.prefixes, 0.1), slow);
    EXPECT_EQ(stats::quantile(found.prefixes, 0.9), slow);
  }
}

TEST(SteadyState, NothingIsDiscardedFromFewerThanEightSteps) {
  std::vector<double> steps{9, 9, 9, 1, 1, 1, 1};
  for (; !steps.empty(); steps.pop_back()) {
    EXPECT_EQ(find_steady_state(steps).unsteady_steps, 0);
    EXPECT_TRUE(find_steady_state(steps).steady);
  }
  EXPECT_EQ(find_steady_state({}).unsteady_steps, 0);
}

TEST(SteadyState, TakesConstantSteps) {
  EXPECT_EQ(find_steady_state(std::vector<double>(100, 0.5)).unsteady_steps, 0);
  std::vector<double> drop(100, 0.5);
  std::fill_n(drop.begin(), 20, 1.0);
  EXPECT_EQ(find_steady_state(drop).unsteady_steps, 20);
}

TEST(LevelSegments, OfLongSeriesAreFoundToo) {
  const std::vector<double> steps = series(
      20'000, [](int i) { return i < 5000 ? 1.1 : 1.0; }, 0.05, 0.5, 2);
  const std::vector<stats::Segment> segments = stats::level_segments(steps, stats::lasting_noise(steps));
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_NEAR(static_cast<double>(segments[1].begin), 5000, 50);
  EXPECT_NEAR(segments[0].level, 1.1, 0.01);
  // sqrt((1 + rho) / (1 - rho)) times the standard deviation.
  EXPECT_NEAR(stats::lasting_noise(steps), 0.05 * std::sqrt(3.0), 0.01);
}

TEST(StepStatistics, LeaveOutTheWarmUpButNotFromTheLegacyMetrics) {
  std::vector<double> steps = stats::TestNoise(1).steps(120, 0.1, 0.02);
  for (std::size_t i = 0; i < 20; ++i) steps[i] *= 3;
  steps[70] = 2;
  const StepStatistics result = describe_steps(steps, 50);
  EXPECT_EQ(result.steps, 120);
  EXPECT_EQ(result.unsteady_steps, 20);
  EXPECT_TRUE(result.steady);
  EXPECT_NEAR(result.median, 0.1, 0.002);
  EXPECT_DOUBLE_EQ(result.max, 2);
  EXPECT_EQ(result.outliers, std::vector<std::int64_t>{70});
  EXPECT_DOUBLE_EQ(result.legacy.mean_seconds, stats::mean(steps));
  EXPECT_LT(result.mean, result.legacy.mean_seconds);
}

TEST(StepStatistics, AreOrdered) {
  const StepStatistics result = describe_steps(stats::TestNoise(2).steps(300, 1, 0.1, 0.5), 8);
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

// Returns the number of steps until the rule stops.
int feed(StoppingRule& rule, const std::vector<double>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (rule.add(steps[i])) return static_cast<int>(i) + 1;
  return -1;
}

TEST(Stopping, AtTheMostSteps) {
  StoppingRule rule({.max_steps = 7});
  EXPECT_EQ(feed(rule, std::vector<double>(10, 0.1)), 7);
  EXPECT_STREQ(name(rule.state()), "steps");
}

TEST(Stopping, AtTheMostSeconds) {
  StoppingRule rule({.max_steps = 100, .max_seconds = 1});
  EXPECT_EQ(feed(rule, std::vector<double>(100, 0.125)), 8);
  EXPECT_STREQ(name(rule.state()), "seconds");
}

TEST(Stopping, WhenTheIntervalIsNarrow) {
  StoppingRule rule({.relative_half_width = 0.01});
  const int steps = feed(rule, stats::TestNoise(1).steps(20'000, 0.1, 0.1));
  // 1.96 * 10 % / sqrt(n) = 1 % at n = 384; looks are a quarter apart.
  EXPECT_EQ(rule.state(), Stopping::width);
  EXPECT_GE(steps, 250);
  EXPECT_LE(steps, 600);
  EXPECT_LE(rule.relative_half_width(), 0.01);
}

TEST(Stopping, NeedsMoreStepsWhenTheyAreCorrelated) {
  StoppingRule plain({.relative_half_width = 0.02}), correlated({.relative_half_width = 0.02});
  const int few = feed(plain, stats::TestNoise(2).steps(20'000, 0.1, 0.1)),
            many = feed(correlated, stats::TestNoise(2).steps(20'000, 0.1, 0.1, 0.7));
  EXPECT_GT(many, 2 * few);
}

TEST(Stopping, NotBeforeItIsSteady) {
  StoppingRule rule({.max_steps = 400, .relative_half_width = 0.2});
  std::vector<double> steps = stats::TestNoise(3).steps(400, 0.1, 0.002);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] *= 2 - 0.0025 * static_cast<double>(i);
  EXPECT_EQ(feed(rule, steps), 400);
  EXPECT_EQ(rule.state(), Stopping::steps);

  StoppingRule early({.relative_half_width = 0.2});
  for (int i = 0; i < 150; ++i) EXPECT_FALSE(early.add(steps[static_cast<std::size_t>(i)]));
  EXPECT_EQ(early.state(), Stopping::not_steady);
}

TEST(Stopping, NeverByWidthWhenNotAsked) {
  StoppingRule rule({.max_steps = 300});
  EXPECT_EQ(feed(rule, std::vector<double>(400, 0.1)), 300);
  EXPECT_TRUE(std::isinf(rule.relative_half_width()));
}

}  // namespace

}  // namespace trainyard::record
