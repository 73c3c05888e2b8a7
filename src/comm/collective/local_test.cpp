#include "comm/collective/local.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::comm::collective {
namespace {

// Every rank in a thread of its own.
template <typename Body>
void on_ranks(int ranks, const Body& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

// Returns values whose sum depends on the order in which they are added.
std::vector<std::vector<float>> values_of(int ranks, std::size_t length) {
  std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < values.size(); ++rank)
    for (std::size_t i = 0; i < length; ++i)
      values[rank].push_back((rank % 2 == 0 ? 1e7f : -0.9e7f) +
                             0.37f * static_cast<float>(i * (rank + 1) % 1000));
  return values;
}

std::vector<float> mean_in_rank_order(const std::vector<std::vector<float>>& values) {
  std::vector<float> mean = values.front();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    for (std::size_t rank = 1; rank < values.size(); ++rank) mean[i] += values[rank][i];
    mean[i] *= 1.0f / static_cast<float>(values.size());
  }
  return mean;
}

TEST(LocalGroup, AllReduceGivesEveryRankTheMeanInRankOrder) {
  for (const int ranks : {1, 2, 3, 5})
    for (const std::size_t length : {std::size_t{0}, std::size_t{2}, std::size_t{7}, std::size_t{100003}}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << length << " values");
      LocalGroup group(ranks);
      std::vector<std::vector<float>> values = values_of(ranks, length);
      const std::vector<float> expected = mean_in_rank_order(values);
      on_ranks(ranks, [&](int rank) { group.all_reduce_mean(rank, values[static_cast<std::size_t>(rank)]); });
      for (const auto& each : values) EXPECT_EQ(each, expected);
    }
}

TEST(LocalGroup, ReduceChangesTheRootAlone) {
  LocalGroup group(3);
  std::vector<std::vector<float>> values = values_of(3, 5000);
  const std::vector<std::vector<float>> before = values;
  on_ranks(3, [&](int rank) { group.reduce_mean(rank, 1, values[static_cast<std::size_t>(rank)]); });
  EXPECT_EQ(values[0], before[0]);
  EXPECT_EQ(values[1], mean_in_rank_order(before));
  EXPECT_EQ(values[2], before[2]);
}

TEST(LocalGroup, BroadcastCopiesTheRoot) {
  LocalGroup group(3);
  std::vector<std::vector<float>> values = values_of(3, 5000);
  const std::vector<float> root = values[2];
  on_ranks(3, [&](int rank) { group.broadcast(rank, 2, values[static_cast<std::size_t>(rank)]); });
  for (const auto& each : values) EXPECT_EQ(each, root);
}

// A rank that is ahead must not disturb one that still reads.
TEST(LocalGroup, OperationsFollowEachOtherWithoutAPause) {
  constexpr int kRounds = 300;
  LocalGroup group(3);
  std::vector<std::vector<float>> values(3, std::vector<float>(64));
  std::vector<int> wrong(3);
  on_ranks(3, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    for (int round = 0; round < kRounds; ++round) {
      std::fill(values[index].begin(), values[index].end(), static_cast<float>(rank + round));
      group.all_reduce_mean(rank, values[index]);
      for (const float value : values[index]) wrong[index] += value != static_cast<float>(round + 1) ? 1 : 0;
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(3));
}

TEST(LocalGroup, AbortEndsAllWaiting) {
  LocalGroup group(3);
  std::vector<int> ended(3);
  on_ranks(3, [&](int rank) {
    if (rank == 1) return group.abort();
    try {
      group.barrier();
    } catch (const Error& error) {
      ended[static_cast<std::size_t>(rank)] = error.kind() == ErrorKind::peer ? 1 : 0;
    }
  });
  EXPECT_EQ(ended, (std::vector<int>{1, 0, 1}));
}

}  // namespace
}  // namespace trainyard::comm::collective
