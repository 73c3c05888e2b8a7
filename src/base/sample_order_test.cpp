#include "base/sample_order.h"
#include "base/standard.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

std::vector<std::int64_t> epoch_of(const SampleOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < order.size(); ++i) indices.push_back(order.index(epoch * order.size() + i));
  return indices;
}

TEST(SampleOrder, EveryEpochIsAPermutation) {
  for (const std::int64_t size : {1, 2, 3, 10, 1000, 1024, 1025, 60'000})
    for (const std::int64_t epoch : {0, 1, 255}) {
      const auto indices = epoch_of(SampleOrder(5, size), epoch);
      const std::set<std::int64_t> seen(indices.begin(), indices.end());
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), size);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), size - 1);
    }
}

TEST(SampleOrder, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(epoch_of(SampleOrder(5, 1000), 3), epoch_of(SampleOrder(5, 1000), 3));
  EXPECT_NE(epoch_of(SampleOrder(5, 1000), 3), epoch_of(SampleOrder(6, 1000), 3));
  EXPECT_NE(epoch_of(SampleOrder(5, 1000), 3), epoch_of(SampleOrder(5, 1000), 4));
}

// Chi-squared over (position, index) of many epochs: 81 degrees of freedom, mean 81, deviation 12.7.
TEST(SampleOrder, PutsEachSampleAnywhere) {
  constexpr int kSize = 10, kEpochs = 20'000;
  const SampleOrder order(1, kSize);
  std::vector<int> counts(kSize * kSize);
  for (int epoch = 0; epoch < kEpochs; ++epoch)
    for (int i = 0; i < kSize; ++i)
      ++counts[static_cast<std::size_t>(i * kSize + order.index(epoch * kSize + i))];
  double chi = 0;
  constexpr double kExpected = double{kEpochs} / kSize;
  for (const int count : counts) chi += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_GT(chi, 81 - 5 * 12.7);
  EXPECT_LT(chi, 81 + 5 * 12.7);
}

// A random permutation keeps one pair of neighbours in order, on average.
TEST(SampleOrder, NeighboursDoNotStayTogether) {
  for (const std::int64_t epoch : {0, 1, 2}) {
    const auto indices = epoch_of(SampleOrder(9, 50'000), epoch);
    int together = 0;
    for (std::size_t i = 1; i < indices.size(); ++i) together += indices[i] == indices[i - 1] + 1;
    EXPECT_LT(together, 10);
  }
}

}  // namespace
}  // namespace trainyard
