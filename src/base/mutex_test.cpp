#include "base/mutex.h"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/threads.h"

namespace trainyard {
namespace {

// A number that threads raise one after the other.
class Turns {
 public:
  void take(int turn) TRAINYARD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (next_ != turn) changed_.wait(lock);
    ++next_;
    lock.unlock();
    changed_.notify_all();
  }
  int next() TRAINYARD_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return next_;
  }
  // Returns whether the turn came in time.
  bool comes(int turn, double seconds) TRAINYARD_EXCLUDES(mutex_) {
    const double deadline = now_seconds() + seconds;
    MutexLock lock(mutex_);
    while (next_ != turn && changed_.wait_until(lock, deadline)) {
    }
    return next_ == turn;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int next_ TRAINYARD_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, ThreadsTakeTurns) {
  constexpr int kThreads = 4, kRounds = 100;
  Turns turns;
  {
    std::vector<std::jthread> threads;
    for (int first = 0; first < kThreads; ++first)
      threads.emplace_back([&turns, first] {
        for (int round = 0; round < kRounds; ++round) turns.take(first + round * kThreads);
      });
  }
  EXPECT_EQ(turns.next(), kThreads * kRounds);
}

TEST(Mutex, AWaitEndsInTime) {
  Turns turns;
  const double began = now_seconds();
  EXPECT_FALSE(turns.comes(1, 0.05));
  EXPECT_GE(now_seconds() - began, 0.05);
  std::jthread other([&] { turns.take(0); });
  EXPECT_TRUE(turns.comes(1, 60));
}

TEST(Threads, TheFirstErrorIsKept) {
  FirstError error;
  EXPECT_NO_THROW(error.rethrow());
  for (const char* words : {"first", "second"}) {
    try {
      throw std::runtime_error(words);
    } catch (...) {
      error.keep_current();
    }
  }
  try {
    error.rethrow();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& kept) {
    EXPECT_EQ(std::string(kept.what()), "first");
  }
}

TEST(Threads, AStopEndsASleep) {
  EXPECT_FALSE(sleep_unless_stopped(std::stop_token(), 0.001));
  bool asked = false;
  std::jthread sleeper([&](const std::stop_token& stop) { asked = sleep_unless_stopped(stop, 3600); });
  sleeper.request_stop();
  sleeper.join();
  EXPECT_TRUE(asked);
}

}  // namespace
}  // namespace trainyard
