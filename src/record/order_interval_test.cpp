#include "record/order_interval.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "record/test_series.h"

namespace trainyard::record {
namespace {

// Normal, skewed, of two levels, and with rare long stalls: whatever the distribution, of six runs and more
// the median is covered as promised. Two to five are widened by what normal runs need.
TEST(OrderInterval, CoversTheMedianOfAnyDistribution) {
  TestNoise noise(2);
  using Draw = double (*)(TestNoise&);
  struct Distribution {
    Draw draw;
    double median;
  };
  const Distribution distributions[] = {
      {[](TestNoise& n) { return n.normal(); }, 0},
      {[](TestNoise& n) { return std::exp(n.normal()); }, 1},
      {[](TestNoise& n) { return n.uniform() < 0.1 ? 30 + n.normal() : n.normal(); }, 0.1397},
      {[](TestNoise& n) { return n.normal() / n.normal(); }, 0}};
  for (const Distribution& distribution : distributions)
    for (const int runs : {5, 6, 7, 10, 25}) {
      int covered = 0;
      for (int i = 0; i < 2000; ++i) {
        std::vector<double> samples;
        for (int run = 0; run < runs; ++run) samples.push_back(distribution.draw(noise));
        const Interval interval = order_interval(samples);
        covered += interval.low <= distribution.median && distribution.median <= interval.high;
      }
      EXPECT_GE(covered / 2000.0, 0.925) << runs;
      EXPECT_LE(covered / 2000.0, 0.975) << runs;
    }
}

TEST(OrderInterval, FewNormalSamplesAreWidened) {
  TestNoise noise(3);
  for (const int runs : {2, 3, 4, 5}) {
    int covered = 0;
    for (int i = 0; i < 4000; ++i) {
      std::vector<double> samples;
      for (int run = 0; run < runs; ++run) samples.push_back(noise.normal());
      const Interval interval = order_interval(samples);
      covered += interval.low <= 0 && 0 <= interval.high;
    }
    EXPECT_NEAR(covered / 4000.0, 0.95, 0.012) << runs;
  }
  EXPECT_DOUBLE_EQ(order_interval(std::vector<double>{4, 4}).low, 4);
}

TEST(OrderInterval, OfThousandsOfSamplesStaysFinite) {
  std::vector<double> samples;
  for (int i = 0; i < 4001; ++i) samples.push_back(i);
  const Interval interval = order_interval(samples);
  EXPECT_NEAR(interval.low, 2000 - 0.98 * std::sqrt(4001), 2);
  EXPECT_NEAR(interval.high, 2000 + 0.98 * std::sqrt(4001), 2);
}

}  // namespace
}  // namespace trainyard::record
