#include "meter/cpu.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace trainyard::meter {

namespace {

const std::vector<int> kTwo{0, 1}, kOne{0};

TEST(CheckCores, FindsNothingWhereTheRunHadWhatItAskedFor) {
  EXPECT_TRUE(check_cores(2, kTwo, 2.1, std::nullopt).empty());
  EXPECT_TRUE(check_cores(2, kTwo, 0.3, 2.0).empty()) << "using less is no fault";
}

// The "1-core" job of PSC's benchmarks used 27.8 (specs/benchmarking.md 4.3).
TEST(CheckCores, FlagsMoreCoresThanWereAskedFor) {
  const auto found = check_cores(1, kOne, 27.8, std::nullopt);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "cores");
  EXPECT_EQ(found[0].text, "1 cores asked for, but 27.80 were used");
}

TEST(CheckCores, FlagsOtherCoresAndTooSmallAQuota) {
  const auto found = check_cores(1, kTwo, 0.5, 0.5);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "1 cores asked for, but threads may run on 2");
  EXPECT_EQ(found[1].text, "1 cores asked for, but the control group grants 0.50");
}

double seconds_of(const std::vector<ThreadTimes>& all, const std::string& name) {
  for (const ThreadTimes& times : all)
    if (times.name == name) return times.user_seconds + times.system_seconds;
  return -1;
}

TEST(ThreadTimes, BusyAndIdleThreadsAreToldApart) {
  std::atomic<bool> end = false;
  std::jthread busy([&] {
    name_thread("busy (thread");  // a parenthesis in a name ends nothing
    while (!end) {
    }
  });
  std::jthread idle([&] {
    name_thread("idle thread");
    end.wait(false);
  });
  const double began = now_seconds();
  while (now_seconds() - began < 10 && seconds_of(read_thread_times(), "busy (thread") < 0.1)
    std::this_thread::yield();
  const auto times = read_thread_times();
  end = true;
  end.notify_all();
  EXPECT_GE(seconds_of(times, "busy (thread"), 0.1);
  EXPECT_GE(seconds_of(times, "idle thread"), 0);
  EXPECT_LE(seconds_of(times, "idle thread"), 0.02);
}

}  // namespace

}  // namespace trainyard::meter
