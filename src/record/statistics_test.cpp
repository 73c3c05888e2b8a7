#include "record/statistics.h"

#include <vector>

#include <gtest/gtest.h>

namespace trainyard::record {
namespace {

TEST(Statistics, OfAKnownSample) {
  const std::vector<double> samples{4, 1, 3, 2};
  const Summary summary = summarise(samples);
  EXPECT_DOUBLE_EQ(summary.mean, 2.5);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.p95, 3.85);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
}

TEST(Statistics, OfOneSample) {
  const std::vector<double> samples{7};
  EXPECT_DOUBLE_EQ(summarise(samples).p95, 7);
}

}  // namespace
}  // namespace trainyard::record
