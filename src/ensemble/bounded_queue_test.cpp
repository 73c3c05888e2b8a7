#include "ensemble/bounded_queue.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "base/philox.h"

namespace trainyard::ensemble {
namespace {

using Numbers = BoundedQueue<int>;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Every one of `count` items comes out once, whoever puts in and takes out, and never more are inside than
// allowed.
void expect_passed(int writers, int readers, const Numbers::Limits& limits) {
  constexpr int kCount = 4000;
  Numbers queue(limits);
  std::vector<std::atomic<int>> seen(kCount);
  std::atomic<int> next = 0, beyond = 0;
  std::vector<std::jthread> threads;
  std::vector<std::jthread> taking;
  for (int r = 0; r < readers; ++r)
    taking.emplace_back([&] {
      while (const std::optional<int> item = queue.pop()) {
        ++seen[static_cast<std::size_t>(*item)];
        const QueueFill fill = queue.fill();
        if (fill.items > limits.items || (limits.bytes > 0 && fill.items > 1 && fill.bytes > limits.bytes))
          ++beyond;
      }
    });
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      const Philox random(1, static_cast<std::uint64_t>(w));
      for (int item; (item = next++) < kCount;)
        ASSERT_TRUE(queue.push(
            item, 1 + static_cast<std::int64_t>(random.word(static_cast<std::uint64_t>(item)) % 40)));
    });
  threads.clear();
  queue.close();
  taking.clear();
  for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
  EXPECT_EQ(beyond, 0);
  EXPECT_EQ(queue.fill().pushed, kCount);
  EXPECT_EQ(queue.fill().popped, kCount);
  EXPECT_EQ(queue.fill().bytes, 0);
}

TEST(BoundedQueue, LosesAndDoublesNothing) {
  for (const int writers : {1, 3})
    for (const int readers : {1, 4})
      for (const Numbers::Limits& limits : {Numbers::Limits{1, 0}, {5, 0}, {100, 60}})
        expect_passed(writers, readers, limits);
}

TEST(BoundedQueue, KeepsTheOrder) {
  Numbers queue({3, 0});
  std::jthread writer([&] {
    for (int i = 0; i < 100; ++i) queue.push(i, 1);
    queue.close();
  });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.pop(), i);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, ALargeItemPassesAlone) {
  Numbers queue({10, 100});
  EXPECT_TRUE(queue.push(1, 1000));
  EXPECT_EQ(queue.pop(), 1);
}

TEST(BoundedQueue, ClosingWakesAll) {
  Numbers full({1, 0}), empty({1, 0});
  full.push(0, 1);
  std::atomic<bool> pushed = true, popped = true;
  {
    std::jthread writer([&] { pushed = full.push(1, 1); });
    std::jthread reader([&] { popped = empty.pop().has_value(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    full.abandon();
    empty.close();
  }
  EXPECT_FALSE(pushed);
  EXPECT_FALSE(popped);
  EXPECT_EQ(full.pop(), std::nullopt);
}

TEST(BoundedQueue, WhoWaitsSleepsAndItsTimeIsCounted) {
  Numbers queue({1, 0});
  const double before = cpu_seconds();
  {
    std::jthread reader([&] { EXPECT_EQ(queue.pop(), 7); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    queue.push(7, 1);
  }
  EXPECT_LT(cpu_seconds() - before, 0.1);
  EXPECT_GT(queue.fill().pop_wait_seconds, 0.1);
  EXPECT_EQ(queue.fill().push_wait_seconds, 0);
}

}  // namespace
}  // namespace trainyard::ensemble
