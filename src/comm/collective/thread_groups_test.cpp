#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/collective/collective.h"

namespace trainyard::comm::collective {
namespace {

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<std::byte> bytes_of(int rank, int round) {
  return std::vector<std::byte>(static_cast<std::size_t>(rank * 7 + round % 3),
                                static_cast<std::byte>(rank + round));
}

TEST(ThreadGroups, EverybodyGetsWhatEachHas) {
  for (const int size : {1, 2, 5})
    run_thread_job(size, [&](Job& job) {
      const auto group = job.make_group(first_ranks(size), 10);
      for (int round = 0; round < 200; ++round) {
        std::vector<std::vector<std::byte>> got;
        std::vector<std::span<std::byte>> to;
        for (int r = 0; r < size; ++r) got.emplace_back(bytes_of(r, round).size());
        for (auto& one : got) to.emplace_back(one);
        const std::vector<std::byte> own = bytes_of(job.rank(), round);
        group->all_gather(own, to);
        for (int r = 0; r < size; ++r)
          ASSERT_TRUE(r == job.rank() || got[static_cast<std::size_t>(r)] == bytes_of(r, round));
        const int root = round % size;
        std::vector<std::byte> mine = bytes_of(job.rank() == root ? 3 : 0, 0);
        mine.resize(21);
        group->broadcast(root, mine);
        ASSERT_EQ(mine, bytes_of(3, 0));
        ASSERT_EQ(gather(*group, job.rank() * 10).back(), (size - 1) * 10);
      }
    });
}

TEST(ThreadGroups, OverlapAndDoNotWaitForEachOther) {
  run_thread_job(4, [](Job& job) {
    const auto left = job.make_group({0, 1, 2}, 10), right = job.make_group({2, 3}, 10),
               again = job.make_group({0, 1, 2}, 10);
    ASSERT_EQ(left != nullptr, job.rank() < 3);
    ASSERT_EQ(right != nullptr, job.rank() > 1);
    ASSERT_TRUE(right == nullptr || right->rank() == job.rank() - 2);
    // Ranks call one by one in any order, from threads of their own.
    std::jthread other([&] {
      if (again != nullptr)
        for (int i = 0; i < 50; ++i) gather(*again, i);
    });
    if (right != nullptr)
      for (int i = 0; i < 50; ++i) gather(*right, i);
    for (int i = 0; left != nullptr && i < 50; ++i) ASSERT_EQ(gather(*left, i * job.rank()).back(), 2 * i);
  });
}

TEST(ThreadGroups, WhoDoesNotComeIsNamed) {
  std::string said;
  try {
    run_thread_job(3, [](Job& job) {
      const auto group = job.make_group(first_ranks(3), 0.2);
      if (job.rank() != 1) gather(*group, 1);
    });
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_EQ(said, "rank 1 did not take part for 0.2 s");
}

}  // namespace
}  // namespace trainyard::comm::collective
