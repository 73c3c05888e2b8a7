#include "ensemble/timed_member.h"

#include <gtest/gtest.h>

namespace trainyard::ensemble {
namespace {

TEST(EnsembleCoreShare, EveryCoreIsUsedEquallyOften) {
  const std::vector<int> cores{0, 2, 4, 6, 1, 3, 5, 7};
  for (const int count : {1, 2, 3, 4, 8, 16}) {
    std::vector<int> times(8);
    for (int number = 0; number < count; ++number)
      for (const int core : share_of_cores(cores, {count, number}, 0))
        ++times[static_cast<std::size_t>(core)];
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    EXPECT_LE(*most - *least, 1) << count;
  }
  EXPECT_EQ(share_of_cores(cores, {4, 1}, 0), (std::vector<int>{4, 6}));
  EXPECT_EQ(share_of_cores(cores, {4, 3}, 3), (std::vector<int>{2, 4, 6}));
  EXPECT_EQ(share_of_cores({5}, {4, 3}, 0), (std::vector<int>{5}));
  EXPECT_EQ(share_of_cores({5, 6}, {1, 0}, 9), (std::vector<int>{5, 6}));
}

TEST(EnsembleCoreShare, RanksOfOneProcessShareItsCores) {
  comm::collective::run_thread_job(3, [](comm::collective::Job& job) {
    const CoreSharers sharers = find_core_sharers(job, 20);
    EXPECT_EQ(sharers.count, 3);
    EXPECT_EQ(sharers.number, job.rank());
  });
}

}  // namespace
}  // namespace trainyard::ensemble
