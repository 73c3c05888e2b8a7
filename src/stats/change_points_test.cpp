#include "stats/change_points.h"

#include <gtest/gtest.h>

#include "stats/test_series.h"

namespace trainyard::stats {

namespace {

// Builds whose speeds spread by `spread` from run to run and by `wobble` from build to build, with the given
// factors on their level.
std::vector<BuildRuns> make_builds(const std::vector<double>& factors, int runs, double spread, double wobble,
                                   std::uint64_t seed) {
  TestNoise noise(seed);
  std::vector<BuildRuns> builds;
  for (const double factor : factors) {
    const double level = factor * std::exp(wobble * noise.normal());
    BuildRuns& build = builds.emplace_back();
    for (int i = 0; i < runs; ++i) build.push_back(1000 * level * std::exp(spread * noise.normal()));
  }
  return builds;
}

double alarm_share(std::size_t builds, int runs, double spread, double wobble) {
  constexpr int kSeries = 400;
  int alarms = 0;
  for (int i = 0; i < kSeries; ++i)
    alarms += !find_changes(make_builds(std::vector<double>(builds, 1.0), runs, spread, wobble, 1000 + i),
                            {.minimum_effect = 0})
                   .empty();
  return static_cast<double>(alarms) / kSeries;
}

// The bound is 5 % and three standard errors of 400 series.
TEST(ChangePointsTest, SeriesWithoutAChangeRarelyShowOne) {
  EXPECT_LE(alarm_share(2, 5, 0.05, 0), 0.083);
  EXPECT_LE(alarm_share(5, 3, 0.02, 0), 0.083);
  EXPECT_LE(alarm_share(8, 5, 0.02, 0), 0.083);
  EXPECT_LE(alarm_share(8, 5, 0.01, 0.03), 0.083);
  EXPECT_LE(alarm_share(30, 3, 0.02, 0.02), 0.083);
}

double found_share(const std::vector<double>& factors, std::size_t at, int runs, double spread,
                   double wobble) {
  constexpr int kSeries = 100;
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<Change> changes = find_changes(make_builds(factors, runs, spread, wobble, 5000 + i));
    found += changes.size() == 1 && changes[0].last_before < at && changes[0].first_after >= at;
  }
  return static_cast<double>(found) / kSeries;
}

TEST(ChangePointsTest, AStepIsFoundAndPlaced) {
  EXPECT_GE(found_share({1, 1, 1, 1, 1, 0.88, 0.88, 0.88}, 5, 5, 0.02, 0.01), 0.9);
  EXPECT_GE(found_share({1, 1, 1, 1, 1, 1, 1, 1, 1, 0.88}, 9, 5, 0.02, 0.01), 0.8);  // the newest build alone
  EXPECT_GE(found_share({1, 0.88}, 1, 5, 0.02, 0), 0.9);
  EXPECT_GE(found_share({1, 1, 1, 1, 1, 1, 1, 1, 1.3, 1.3, 1.3, 1.3}, 8, 3, 0.05, 0.02), 0.9);
}

TEST(ChangePointsTest, SaysBothLevels) {
  const std::vector<Change> changes =
      find_changes(make_builds({1, 1, 1, 1, 0.8, 0.8, 0.8, 0.8}, 5, 0.001, 0.001, 3));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].at, 4u);
  EXPECT_EQ(changes[0].last_before, 3u);
  EXPECT_EQ(changes[0].first_after, 4u);
  EXPECT_NEAR(changes[0].before, 1000, 5);
  EXPECT_NEAR(changes[0].ratio(), 0.8, 0.005);
  EXPECT_LE(changes[0].p_value, 0.01);
}

TEST(ChangePointsTest, AChangeThatIsUndoneIsTwo) {
  const std::vector<Change> changes =
      find_changes(make_builds({1, 1, 1, 1, 1, 0.8, 0.8, 1, 1, 1, 1, 1}, 5, 0.005, 0.005, 4));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].at, 5u);
  EXPECT_EQ(changes[1].at, 7u);
  EXPECT_GT(changes[1].ratio(), 1);
}

TEST(ChangePointsTest, SmallStepsDoNotMatter) {
  EXPECT_TRUE(find_changes(make_builds({1, 1, 1, 1, 0.99, 0.99, 0.99, 0.99}, 5, 1e-4, 1e-4, 5)).empty());
  EXPECT_EQ(find_changes(make_builds({1, 1, 1, 1, 0.99, 0.99, 0.99, 0.99}, 5, 1e-4, 1e-4, 5),
                         {.minimum_effect = 0.005})
                .size(),
            1u);
}

TEST(ChangePointsTest, FewBuildsAndEqualValuesAreNoTrouble) {
  EXPECT_TRUE(find_changes(std::vector<BuildRuns>{}).empty());
  EXPECT_TRUE(find_changes(std::vector<BuildRuns>{{5}}).empty());
  EXPECT_TRUE(find_changes(std::vector<BuildRuns>{{5}, {6}}).empty());
  EXPECT_TRUE(find_changes(std::vector<BuildRuns>(9, BuildRuns{5, 5, 5})).empty());
}

}  // namespace

}  // namespace trainyard::stats
