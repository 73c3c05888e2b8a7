#include "record/stopping.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "record/test_series.h"

namespace trainyard::record {
namespace {

// Steps until it says stop.
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
  const int steps = feed(rule, TestNoise(1).steps(20'000, 0.1, 0.1));
  // 1.96 * 10 % / sqrt(n) = 1 % at n = 384; looks are a quarter apart.
  EXPECT_EQ(rule.state(), Stopping::width);
  EXPECT_GE(steps, 250);
  EXPECT_LE(steps, 600);
  EXPECT_LE(rule.relative_half_width(), 0.01);
}

TEST(Stopping, NeedsMoreStepsWhenTheyAreCorrelated) {
  StoppingRule plain({.relative_half_width = 0.02}), correlated({.relative_half_width = 0.02});
  const int few = feed(plain, TestNoise(2).steps(20'000, 0.1, 0.1)),
            many = feed(correlated, TestNoise(2).steps(20'000, 0.1, 0.1, 0.7));
  EXPECT_GT(many, 2 * few);
}

TEST(Stopping, NotBeforeItIsSteady) {
  StoppingRule rule({.max_steps = 400, .relative_half_width = 0.2});
  std::vector<double> steps = TestNoise(3).steps(400, 0.1, 0.002);
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
