#include "ensemble/fill_log.h"

#include <thread>

#include <gtest/gtest.h>

namespace trainyard::ensemble {
namespace {

// A slow stage behind a queue keeps it full, a slow one before it keeps it empty.
TEST(EnsembleFillLog, ShowsWhichStageIsSlow) {
  BoundedQueue<int> before({.items = 4}), behind({.items = 4});
  std::jthread source([&] {
    while (before.push(1, 1)) {
    }
  });
  std::jthread slow([&] {
    while (before.pop()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (!behind.push(1, 1)) break;
    }
  });
  std::jthread sink([&] {
    while (behind.pop()) {
    }
  });
  std::vector<FillLog::Sample> samples;
  {
    FillLog log({{"before", [&] { return before.fill(); }}, {"behind", [&] { return behind.fill(); }}},
                0.005);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    samples = log.finish();
  }
  before.abandon();
  behind.abandon();
  ASSERT_GT(samples.size(), 10u);
  double full = 0, empty = 0;
  for (const FillLog::Sample& sample : samples) {
    full += sample.fills[0].items >= 3 ? 1 : 0;
    empty += sample.fills[1].items <= 1 ? 1 : 0;
  }
  EXPECT_GT(full, 0.7 * static_cast<double>(samples.size()));
  EXPECT_GT(empty, 0.7 * static_cast<double>(samples.size()));
}

TEST(EnsembleFillLog, ALongRunHasFewerSamplesASecond) {
  BoundedQueue<int> queue({.items = 4});
  FillLog log({{"queue", [&] { return queue.fill(); }}}, 1e-5);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const std::vector<FillLog::Sample> samples = log.finish();
  EXPECT_LE(samples.size(), 2 * FillLog::kMost);
  EXPECT_GT(samples.size(), FillLog::kMost / 2);
  for (std::size_t i = 1; i < samples.size(); ++i) EXPECT_GT(samples[i].seconds, samples[i - 1].seconds);
}

}  // namespace
}  // namespace trainyard::ensemble
