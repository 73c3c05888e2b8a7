#include "train/host_batches.h"

#include <numeric>

#include <gtest/gtest.h>

#include "data/synthetic.h"
#include "train/timed_steps.h"

namespace trainyard::train {
namespace {

class HostBatchesTest : public testing::Test {
 protected:
  static SessionOptions options() {
    SessionOptions options;
    options.model = {.network = "lenet", .batch = 4, .classes = 4, .input = {1, 12, 12}};
    options.backend = "reference";
    options.threads = 1;
    return options;
  }

  // depth 0: no thread makes batches ahead, so every step waits for its own.
  TimedSteps timed(std::int64_t depth) {
    Replicas replicas(options(), {Strategy::single, 1, Scaling::weak});
    HostBatches batches(replicas, dataset_, [&](int) -> data::BatchStreamOptions {
      return {.preprocess = {.name = "unit", .output = {1, 12, 12}}, .batch = 4, .depth = depth};
    });
    return time_steps(replicas, {.warmup_steps = 2, .steps = 6, .batches = &batches});
  }

  const data::Dataset dataset_ = data::make_synthetic(
      {.image_shape = {1, 12, 12}, .classes = 4, .train_images = 60, .test_images = 10, .seed = 5});
};

TEST_F(HostBatchesTest, WhatStepsWaitedForTheirInputIsPartOfTheirTime) {
  const TimedSteps starved = timed(0), fed = timed(4);
  EXPECT_GT(starved.input_wait_seconds, 0);
  for (const TimedSteps* steps : {&starved, &fed}) {
    EXPECT_EQ(steps->seconds.size(), 6u);
    EXPECT_EQ(steps->images_consumed, 6 * 4);
    EXPECT_DOUBLE_EQ(steps->wall_seconds, std::accumulate(steps->seconds.begin(), steps->seconds.end(), 0.0));
    EXPECT_LE(steps->input_wait_seconds, steps->wall_seconds);
  }
}

TEST_F(HostBatchesTest, EveryStepHasABatchOfItsOwn) {
  Replicas replicas(options(), {Strategy::single, 1, Scaling::weak});
  HostBatches batches(replicas, dataset_, [&](int) -> data::BatchStreamOptions {
    return {.preprocess = {.name = "unit", .output = {1, 12, 12}}, .batch = 4};
  });
  const auto images = [&] {
    const auto view = replicas.session(0).executor().host_view<float>(Session::kImages);
    return std::vector<float>(view.begin(), view.end());
  };
  EXPECT_EQ(batches.fill(0), 4);
  const std::vector<float> first = images();
  EXPECT_EQ(batches.fill(0), 4);
  EXPECT_NE(images(), first);
}

}  // namespace
}  // namespace trainyard::train
