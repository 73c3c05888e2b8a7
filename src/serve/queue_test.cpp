// The queue by a clock that only this file turns: every moment is exact.

#include "serve/queue.h"

#include <gtest/gtest.h>

#include "serve/latency.h"

namespace trainyard::serve {
namespace {

class FakeClock : public Clock {
 public:
  double now() override { return now_; }
  void wait_until(double moment) override { now_ = std::max(now_, moment); }
  void pass(double seconds) { now_ += seconds; }

 private:
  double now_ = 100;  // the begin of a queue is any moment
};

// Serves with a server that takes so long for a batch, and `each` more for every request in it.
struct Trial {
  QueueOptions options;
  double seconds = 1, each = 0;
  double first = 0;
  FakeClock clock{};

  Answered run() {
    return serve(options, clock, [&](std::int64_t requests) {
      clock.pass(seconds + each * static_cast<double>(requests));
      return first;
    });
  }
};

// The moments at which requests of the process are due.
std::vector<double> due_times(double rate, std::uint64_t seed, std::int64_t count) {
  PoissonTimes times(rate, seed);
  std::vector<double> due;
  for (std::int64_t i = 0; i < count; ++i) due.push_back(times.next());
  return due;
}

TEST(Queue, OneClientNeverWaits) {
  const Answered answered = Trial{{.arrivals = {.clients = 1}, .requests = 4, .batch = 8}, 0.5}.run();
  ASSERT_EQ(answered.requests.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const Request& request = answered.requests[i];
    EXPECT_DOUBLE_EQ(request.due, 0.5 * static_cast<double>(i));
    EXPECT_EQ(request.begun, request.due);
    EXPECT_EQ(request.first, request.ended);
    EXPECT_DOUBLE_EQ(request.ended - request.due, 0.5);
  }
}

TEST(Queue, ClientsBeyondTheBatchWaitForTheNext) {
  const Answered answered = Trial{{.arrivals = {.clients = 6}, .requests = 12, .batch = 4}, 1}.run();
  ASSERT_EQ(answered.batches.size(), 3u);
  EXPECT_EQ(answered.batches[0].waiting, 6);
  EXPECT_EQ(answered.batches[0].requests, 4);
  // Two of the first six, then two of the four that were answered and sent again.
  EXPECT_EQ(answered.batches[1].waiting, 6);
  EXPECT_EQ(answered.requests[4].due, 0);
  EXPECT_EQ(answered.requests[4].begun, 1);
  EXPECT_EQ(answered.requests[6].due, 1);
  EXPECT_EQ(answered.requests[6].begun, 1);
}

TEST(Queue, ARequestWaitsForOthersAsLongAsItIsTold) {
  // Rate 1, a batch of 100 that is never full, a server that takes no time.
  const std::vector<double> due = due_times(1, 5, 40);
  const Answered answered =
      Trial{{.arrivals = {.rate = 1}, .requests = 40, .batch = 100, .wait_seconds = 2.5, .seed = 5}, 0}.run();
  std::size_t next = 0;
  for (std::size_t b = 0; b < answered.batches.size(); ++b) {
    const double begun = answered.batches[b].begun;
    // All that were due by then are in it, and its oldest waited its time; the last batch waits for nobody.
    const bool last = b + 1 == answered.batches.size();
    EXPECT_NEAR(begun, last ? due.back() : due[next] + 2.5, 1e-9);
    for (; next < due.size() && due[next] <= begun; ++next) EXPECT_EQ(answered.requests[next].begun, begun);
  }
  EXPECT_EQ(next, due.size());
  EXPECT_GT(answered.batches.size(), 5u);
}

TEST(Queue, AFullBatchWaitsNoLonger) {
  const std::vector<double> due = due_times(10, 1, 50);
  const Answered answered =
      Trial{{.arrivals = {.rate = 10}, .requests = 50, .batch = 5, .wait_seconds = 1e6}, 0}.run();
  ASSERT_EQ(answered.batches.size(), 10u);
  for (std::size_t b = 0; b < 10; ++b) {
    EXPECT_EQ(answered.batches[b].requests, 5);
    EXPECT_NEAR(answered.batches[b].begun, due[5 * b + 4], 1e-9);
  }
}

// A server that is held up once delays those that are due meanwhile. Who counted from the moment at which it
// took them would see one slow answer, and not twenty.
TEST(Queue, LatencyCountsFromWhenARequestWasDue) {
  constexpr std::int64_t kRequests = 40;
  const std::vector<double> due = due_times(10, 1, kRequests);
  FakeClock clock;
  int batches = 0;
  const Answered answered =
      serve({.arrivals = {.rate = 10}, .requests = kRequests, .batch = 1}, clock, [&](std::int64_t) {
        clock.pass(batches++ == 0 ? 2.0 : 1e-3);
        return 0.0;
      });
  std::int64_t slow = 0;
  for (std::size_t i = 0; i < answered.requests.size(); ++i) {
    EXPECT_DOUBLE_EQ(answered.requests[i].due, due[i]);
    if (answered.requests[i].ended - answered.requests[i].due > 0.1) ++slow;
  }
  const auto held_up =
      std::count_if(due.begin(), due.end(), [&](double time) { return time < due[0] + 1.8; });
  EXPECT_GE(slow, held_up);
  EXPECT_GT(held_up, 10);
}

TEST(Queue, NobodyIsSentAfterTheLimitAndWhoWasSentIsAnswered) {
  const Answered answered =
      Trial{{.arrivals = {.rate = 10}, .requests = 1'000'000, .max_seconds = 5, .batch = 1}, 1}.run();
  EXPECT_TRUE(answered.timed_out);
  const std::vector<double> due = due_times(10, 1, 200);
  const auto expected = std::count_if(due.begin(), due.end(), [](double time) { return time <= 5; });
  EXPECT_EQ(std::ssize(answered.requests), expected);
  EXPECT_GT(answered.batches.back().ended, static_cast<double>(expected));
}

TEST(Queue, WhoAsksItToStopIsHeardWhileNothingIsDue) {
  FakeClock clock;
  int looks = 0;
  const Answered answered =
      serve({.arrivals = {.rate = 1e-6}, .requests = 3, .stop = [&] { return ++looks > 10; }}, clock,
            [](std::int64_t) { return 0.0; });
  EXPECT_TRUE(answered.stopped);
  EXPECT_TRUE(answered.requests.empty());
}

TEST(Latency, FirstPartsComeBeforeTheWholeAnswer) {
  Trial trial{{.arrivals = {.clients = 2}, .requests = 4, .batch = 2}, 1};
  trial.first = 0.25;
  const Answered answered = trial.run();
  const LatencySummary told = summarise(trial.options, answered, 1);
  EXPECT_DOUBLE_EQ(told.first.median, 0.25);
  EXPECT_DOUBLE_EQ(told.latency.median, 1);
}

// Half as many as the server can answer: with constant service an M/D/1 queue, whose mean wait is
// rho / (2 (1 - rho)) services (Pollaczek and Khinchine).
TEST(Latency, OfABusyServerIsThatOfItsQueue) {
  const Trial trial{{.arrivals = {.rate = 0.5}, .requests = 20'000, .batch = 1}, 1};
  const Answered answered = Trial(trial).run();
  double waits = 0;
  for (const Request& request : answered.requests) waits += request.begun - request.due;
  EXPECT_NEAR(waits / 20'000, 0.5 / (2 * (1 - 0.5)), 0.05);
  const LatencySummary told = summarise(trial.options, answered, 1);
  EXPECT_NEAR(told.busy, 0.5, 0.01);
  EXPECT_NEAR(told.requests_per_second, 0.5, 0.01);
  EXPECT_EQ(told.capacity_per_second, 1);
  EXPECT_EQ(told.fill, 1);
  EXPECT_FALSE(told.overloaded);
  EXPECT_LT(told.peak_queue, 20);
}

TEST(Latency, AQueueThatGrowsIsCalledSo) {
  // A full batch of 4 takes 1.4 seconds: 2.86 a second, and 5 come.
  const Trial trial{{.arrivals = {.rate = 5}, .requests = 400, .batch = 4}, 1, 0.1};
  const Answered answered = Trial(trial).run();
  const LatencySummary told = summarise(trial.options, answered, 99);
  EXPECT_TRUE(told.overloaded);
  EXPECT_NEAR(told.capacity_per_second, 4 / 1.4,
              1e-9);  // by those that were full, and not by what it was told
  EXPECT_NEAR(told.requests_per_second, 4 / 1.4, 0.1);
  EXPECT_GT(told.peak_queue, 100);
  EXPECT_GT(told.fill, 0.98);
  EXPECT_GT(told.latency.p99, 50);
  // Clients that wait for their answers cannot be too many.
  const Trial closed{{.arrivals = {.clients = 100}, .requests = 400, .batch = 4}, 1};
  EXPECT_FALSE(summarise(closed.options, Trial(closed).run(), 1).overloaded);
}

TEST(Latency, FewFullBatchesSayNothingOfTheCapacity) {
  const Trial trial{{.arrivals = {.rate = 0.1}, .requests = 50, .batch = 8}, 0.5};
  const LatencySummary told = summarise(trial.options, Trial(trial).run(), 2);
  EXPECT_EQ(told.capacity_per_second, 4);
  EXPECT_LT(told.fill, 0.2);
}

TEST(SteadyClock, WaitsUntilAMomentAndNotForOneThatIsOver) {
  SteadyClock clock;
  const double start = clock.now();
  clock.wait_until(start + 0.01);
  EXPECT_GE(clock.now(), start + 0.01);
  clock.wait_until(start - 1);
}

}  // namespace
}  // namespace trainyard::serve
