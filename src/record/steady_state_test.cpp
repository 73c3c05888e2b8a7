#include "record/steady_state.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "record/level_segments.h"
#include "record/statistics.h"
#include "record/test_series.h"

namespace trainyard::record {
namespace {

using Level = std::function<double(int)>;

std::vector<double> series(int steps, const Level& level, double spread, double rho, std::uint64_t seed) {
  std::vector<double> result = TestNoise(seed).steps(steps, 1, spread, rho);
  for (int i = 0; i < steps; ++i) result[static_cast<std::size_t>(i)] *= level(i);
  return result;
}

// What was found in 200 series of the same kind.
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
    EXPECT_GE(quantile(found.prefixes, 0.05), 15) << rho;
    EXPECT_LE(quantile(found.prefixes, 0.95), 70) << rho;
  }
}

TEST(SteadyState, ASteadyPlateauBeforeADropIsWarmUp) {
  for (const int end : {30, 120}) {
    const Found found = find_in_many(
        200, [end](int i) { return i < end ? 1.2 : 1.0; }, 0.02, 0.3);
    EXPECT_GE(found.steady, 190);
    EXPECT_EQ(quantile(found.prefixes, 0.1), end);
    EXPECT_EQ(quantile(found.prefixes, 0.9), end);
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
    EXPECT_EQ(quantile(found.prefixes, 0.1), slow);
    EXPECT_EQ(quantile(found.prefixes, 0.9), slow);
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
  const std::vector<Segment> segments = level_segments(steps, lasting_noise(steps));
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_NEAR(static_cast<double>(segments[1].begin), 5000, 50);
  EXPECT_NEAR(segments[0].level, 1.1, 0.01);
  // sqrt((1 + rho) / (1 - rho)) times the standard deviation.
  EXPECT_NEAR(lasting_noise(steps), 0.05 * std::sqrt(3.0), 0.01);
}

}  // namespace
}  // namespace trainyard::record
