#include "train/loop/timed_steps.h"

#include <gtest/gtest.h>

#include "engine/canonical.h"

namespace trainyard::train {
namespace {

SessionOptions timed_session() {
  SessionOptions options;
  options.model.network = "lenet";
  options.model.batch = 2;
  options.threads = 1;
  return options;
}

TEST(TimedSteps, EndWhenTheyAreEnoughAlsoWhileWarmingUp) {
  Replicas replicas(timed_session(), {});
  const auto steps_until = [&](std::int64_t enough) {
    return time_steps(replicas, {.warmup_steps = 3, .steps = 5, .after_step = [=](std::int64_t done, double) {
                                   return done < enough;
                                 }});
  };
  const TimedSteps early = steps_until(2), later = steps_until(5);
  EXPECT_EQ(early.warmup_seconds.size(), 2u);
  EXPECT_TRUE(early.seconds.empty());
  EXPECT_EQ(early.images_consumed, 0);
  EXPECT_EQ(later.warmup_seconds.size(), 3u);
  EXPECT_EQ(later.seconds.size(), 2u);
  EXPECT_EQ(later.images_consumed, 4);
}

TEST(TimedKernels, StopBeforeAKernel) {
  Session session(timed_session());
  engine::initialise_inputs(session.executor(), 1);
  const std::size_t kernels = session.executor().plan().steps.size();
  std::vector<double> seconds;
  std::size_t asked = 0;
  EXPECT_EQ(session.executor().run_timed({1, 0}, seconds, [&] { return ++asked > 3; }), 3u);
  ASSERT_EQ(seconds.size(), kernels);
  for (std::size_t s = 0; s < kernels; ++s) EXPECT_EQ(seconds[s] > 0, s < 3) << s;
  EXPECT_EQ(session.executor().run_timed({1, 1}, seconds), kernels);
}

}  // namespace
}  // namespace trainyard::train
