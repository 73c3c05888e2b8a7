#include "stats/permutation.h"

#include <gtest/gtest.h>

#include "stats/test_series.h"

namespace trainyard::stats {

namespace {

std::vector<Stratum> one(std::vector<double> a, std::vector<double> b) {
  return {{std::move(a), std::move(b)}};
}

TEST(PermutationTest, CentresAreMeansOfThirdsOrMedians) {
  const std::vector<double> samples{5, 1, 4, 2, 3};
  EXPECT_DOUBLE_EQ(centre_of(samples, Centre::highest_third), 4.5);
  EXPECT_DOUBLE_EQ(centre_of(samples, Centre::lowest_third), 1.5);
  EXPECT_DOUBLE_EQ(centre_of(samples, Centre::median), 3);
}

// Two of C(8, 4) = 70 and of C(10, 5) = 252 labellings separate the sides as far as sides that do not
// overlap.
TEST(PermutationTest, CountsLabellings) {
  EXPECT_NEAR(permutation_p_value(one({1, 2, 3, 4}, {15, 16, 17, 18}), Centre::highest_third), 2.0 / 70,
              1e-12);
  EXPECT_NEAR(permutation_p_value(one({1, 2, 3, 4, 5}, {16, 17, 18, 19, 20}), Centre::lowest_third),
              2.0 / 252, 1e-12);
  EXPECT_NEAR(permutation_p_value(one({1, 2, 3}, {14, 15, 16}), Centre::highest_third), 2.0 / 20, 1e-12);
  EXPECT_DOUBLE_EQ(smallest_p_value(one({1, 2, 3}, {4, 5, 6})), 0.1);
  EXPECT_DOUBLE_EQ(permutation_p_value(one({5, 5, 5, 5}, {5, 5, 5, 5}), Centre::median), 1);
}

// A run that was held up costs nothing where only the best third counts.
TEST(PermutationTest, OneRunThatWasHeldUpHidesNothing) {
  const auto quiet = one({100, 101, 99, 100.5, 99.5}, {88, 89, 88.5, 87.5, 89.5});
  const auto busy = one({100, 101, 99, 100.5, 30}, {88, 89, 88.5, 87.5, 20});
  EXPECT_LE(permutation_p_value(quiet, Centre::highest_third), 0.01);
  EXPECT_LE(permutation_p_value(busy, Centre::highest_third), 0.048);
}

TEST(PermutationTest, StrataOfDifferentLevelsAddUp) {
  std::vector<Stratum> strata;
  for (int node = 0; node < 6; ++node) strata.push_back({{100.0 * node}, {100.0 * node + 1}});
  EXPECT_NEAR(permutation_p_value(strata, Centre::highest_third), 2.0 / 64, 1e-12);  // the sign test
  EXPECT_DOUBLE_EQ(centres_of(strata, Centre::highest_third).difference(), 1);
}

TEST(PermutationTest, HoldsItsLevelWhateverTheDistribution) {
  TestNoise noise(1);
  for (const int runs : {4, 5, 12}) {  // of twelve labellings are drawn
    int alarms = 0;
    constexpr int kTries = 400;
    for (int i = 0; i < kTries; ++i) {
      std::vector<Stratum> strata(1);
      for (int run = 0; run < runs; ++run)
        for (auto* side : {&strata[0].a, &strata[0].b})
          side->push_back(noise.normal() - (noise.uniform() < 0.2 ? 20 * noise.uniform() : 0));
      alarms += permutation_p_value(strata, Centre::highest_third) <= 0.05;
    }
    EXPECT_LE(alarms, 33) << runs;  // 5 % of 400, and three standard errors
  }
}

TEST(PermutationTest, IntervalCoversTheDifference) {
  EXPECT_FALSE(permutation_interval(one({1, 2, 3}, {4, 5, 6}), Centre::median));
  TestNoise noise(2);
  int covered = 0;
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    std::vector<Stratum> strata(1);
    for (int run = 0; run < 5; ++run) {
      strata[0].a.push_back(-std::exp(noise.normal()));  // a tail to one side
      strata[0].b.push_back(3 - std::exp(noise.normal()));
    }
    const auto interval = permutation_interval(strata, Centre::highest_third);
    covered += interval->low <= 3 && 3 <= interval->high;
  }
  EXPECT_GE(covered, 0.92 * kTries);
  const auto equal = permutation_interval(one({5, 5, 5, 5}, {5, 5, 5, 5}), Centre::highest_third);
  EXPECT_DOUBLE_EQ(equal->low, 0);
  EXPECT_DOUBLE_EQ(equal->high, 0);
}

}  // namespace

}  // namespace trainyard::stats
