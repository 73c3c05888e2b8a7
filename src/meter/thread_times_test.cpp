#include "meter/thread_times.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace trainyard::meter {
namespace {

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
