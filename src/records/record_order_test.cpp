#include "records/record_order.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace trainyard::records {
namespace {

constexpr std::int64_t kWindows[] = {0, 1, 7, 64};

std::vector<std::int64_t> epoch_of(const RecordOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < order.size(); ++i) ids.push_back(order.id(epoch * order.size() + i));
  return ids;
}

TEST(RecordOrder, EveryEpochIsAPermutation) {
  for (std::int64_t size = 1; size <= 200; ++size)
    for (const std::int64_t window : kWindows) {
      const RecordOrder order(3, size, window, true);
      std::vector<std::int64_t> all(static_cast<std::size_t>(size));
      std::iota(all.begin(), all.end(), 0);
      for (const std::int64_t epoch : {0, 1, 1000}) {
        std::vector<std::int64_t> ids = epoch_of(order, epoch);
        std::sort(ids.begin(), ids.end());
        ASSERT_EQ(ids, all) << "size " << size << ", window " << window << ", epoch " << epoch;
      }
    }
}

TEST(RecordOrder, EpochsAndSeedsDiffer) {
  for (const std::int64_t window : kWindows) {
    const RecordOrder order(3, 100, window, true), other(4, 100, window, true);
    EXPECT_NE(epoch_of(order, 0), epoch_of(order, 1)) << window;
    EXPECT_NE(epoch_of(order, 0), epoch_of(other, 0)) << window;
  }
}

TEST(RecordOrder, WindowsHoldNeighbours) {
  constexpr std::int64_t kSize = 1000, kWindow = 64;
  const RecordOrder order(3, kSize, kWindow, true);
  for (const std::int64_t epoch : {0, 5}) {
    const std::vector<std::int64_t> ids = epoch_of(order, epoch);
    for (std::int64_t first = 0; first < kSize; first += kWindow) {
      const auto begin = ids.begin() + first, end = ids.begin() + std::min(first + kWindow, kSize);
      // Around the end of the set too: distances from the first, on a circle.
      std::int64_t least = 0, most = 0;
      for (auto id = begin; id != end; ++id) {
        const std::int64_t ahead = (*id - *begin + kSize + kSize / 2) % kSize - kSize / 2;
        least = std::min(least, ahead);
        most = std::max(most, ahead);
      }
      EXPECT_LT(most - least, kWindow) << first;
    }
  }
}

TEST(RecordOrder, WithoutShufflingItIsThatOfTheFiles) {
  const RecordOrder order(3, 5, 2, false);
  EXPECT_EQ(epoch_of(order, 7), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace trainyard::records
