#include "stats/statistics.h"

#include <gtest/gtest.h>

#include "stats/test_series.h"

namespace trainyard::stats {

namespace {

TEST(Statistics, OfAKnownSample) {
  const std::vector<double> samples{4, 1, 3, 2};
  const Summary summary = summarise(samples);
  EXPECT_DOUBLE_EQ(summary.mean, 2.5);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.p95, 3.85);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
  EXPECT_DOUBLE_EQ(population_variance(samples), 1.25);
  EXPECT_DOUBLE_EQ(sample_variance(samples), 5.0 / 3);
}

TEST(Statistics, OfOneSample) {
  const std::vector<double> samples{7};
  EXPECT_DOUBLE_EQ(summarise(samples).p95, 7);
  EXPECT_DOUBLE_EQ(sample_variance(samples), 0);
  EXPECT_TRUE(find_outliers(samples).empty());
}

TEST(Statistics, OutliersAreBeyondTheFarFences) {
  std::vector<double> samples(100, 1.0);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += 0.001 * static_cast<double>(i % 10);
  EXPECT_TRUE(find_outliers(samples).empty());
  samples[17] = 1.5;
  samples[40] = 0.2;
  EXPECT_EQ(find_outliers(samples), (std::vector<std::int64_t>{17, 40}));
}

// The figures are from tables of Student's distribution, e.g. NIST/SEMATECH e-Handbook 1.3.6.7.2.
TEST(StudentT, HasTheTabledQuantiles) {
  EXPECT_NEAR(t_quantile(0.975, 1), 12.7062, 5e-5);
  EXPECT_NEAR(t_quantile(0.975, 4), 2.7764, 5e-5);
  EXPECT_NEAR(t_quantile(0.95, 10), 1.8125, 5e-5);
  EXPECT_NEAR(t_quantile(0.975, 100), 1.9840, 5e-5);
  EXPECT_NEAR(t_quantile(0.975, INFINITY), 1.959964, 5e-7);
  EXPECT_NEAR(t_quantile(0.025, 4), -2.7764, 5e-5);
  EXPECT_DOUBLE_EQ(t_quantile(0.5, 3), 0);
}

TEST(StudentT, ProbabilityAndQuantileAreInverse) {
  for (const double freedom : {1.0, 2.5, 17.0, 1e6, 1e9})
    for (const double p : {0.9, 0.5, 0.05, 1e-6})
      EXPECT_NEAR(two_sided_p(t_quantile(1 - p / 2, freedom), freedom), p, 1e-9) << freedom;
  EXPECT_DOUBLE_EQ(two_sided_p(0, 5), 1);
  EXPECT_DOUBLE_EQ(two_sided_p(INFINITY, 5), 0);
}

// The distributions are normal, skewed, of two levels, and with rare long stalls: from six runs on the
// interval covers the median of each as promised. Two to five runs are widened as normal runs need.
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

// A machine with two speeds: most runs lie close together, and the others far away.
TEST(OrderInterval, FiveRunsOfAMachineWithTwoSpeedsCoverTheMedianAsOftenAsOthers) {
  for (const double slow_share : {0.07, 0.2, 0.35, 0.5}) {
    TestNoise noise(4);
    const auto draw = [&] {
      return noise.uniform() < slow_share ? -0.6 + 0.04 * noise.normal() : 0.02 * noise.normal();
    };
    std::vector<double> many;
    for (int i = 0; i < 40'001; ++i) many.push_back(draw());
    const double centre = median(many);
    int covered = 0;
    for (int i = 0; i < 20'000; ++i) {
      std::vector<double> samples;
      for (int run = 0; run < 5; ++run) samples.push_back(draw());
      const Interval interval = order_interval(samples);
      covered += interval.low <= centre && centre <= interval.high;
    }
    EXPECT_GE(covered / 20'000.0, 0.935) << slow_share;
    EXPECT_LE(covered / 20'000.0, 0.965) << slow_share;
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

}  // namespace trainyard::stats
