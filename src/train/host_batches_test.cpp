#include "train/host_batches.h"

#include <numeric>

#include <gtest/gtest.h>

#include "data/image_batches.h"
#include "data/synthetic.h"
#include "data/token_batches.h"
#include "train/test_dataset.h"
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

  std::shared_ptr<const data::BatchMaker> images(std::int64_t depth) const {
    const data::Preprocess unit{.name = "unit", .output = {1, 12, 12}};
    return std::make_shared<data::ImageBatches>(
        dataset_, data::BatchStreamOptions{.preprocess = unit, .batch = 4, .depth = depth});
  }

  // depth 0: no thread makes batches ahead, so every step waits for its own.
  TimedSteps timed(std::int64_t depth) {
    Replicas replicas(options(), {Strategy::single, 1, Scaling::weak});
    HostBatches batches(replicas, [&](int) { return images(depth); });
    return time_steps(replicas, {.warmup_steps = 2, .steps = 6, .batches = &batches});
  }

  const data::Dataset dataset_ = small_dataset();
};

TEST_F(HostBatchesTest, WhatStepsWaitedForTheirInputIsPartOfTheirTime) {
  const TimedSteps starved = timed(0), fed = timed(4);
  EXPECT_GT(starved.input_wait_seconds, 0);
  EXPECT_GT(fed.input_wait_seconds, 0);  // a batch that was ready is still handed over and copied
  for (const TimedSteps* steps : {&starved, &fed}) {
    EXPECT_EQ(steps->seconds.size(), 6u);
    EXPECT_EQ(steps->images_consumed, 6 * 4);
    EXPECT_DOUBLE_EQ(steps->wall_seconds, std::accumulate(steps->seconds.begin(), steps->seconds.end(), 0.0));
    EXPECT_LE(steps->input_wait_seconds, steps->wall_seconds);
  }
}

TEST_F(HostBatchesTest, EveryStepHasABatchOfItsOwn) {
  Replicas replicas(options(), {Strategy::single, 1, Scaling::weak});
  HostBatches batches(replicas, [&](int) { return images(4); });
  const auto filled = [&] {
    const auto view = replicas.session(0).executor().host_view<float>(Session::kImages);
    return std::vector<float>(view.begin(), view.end());
  };
  EXPECT_EQ(batches.fill(0), 4);
  const std::vector<float> first = filled();
  EXPECT_EQ(batches.fill(0), 4);
  EXPECT_NE(filled(), first);
}

TEST(HostBatches, SequencesHaveTokensAndLengths) {
  SessionOptions options;
  options.model = {.network = "rnn",
                   .batch = 3,
                   .parameters = {{"layers", "1"}, {"hidden", "8"}, {"length", "5"}, {"vocabulary", "16"}}};
  Replicas replicas(options, {Strategy::single, 1, Scaling::weak});
  HostBatches batches(replicas, [](int) {
    return std::make_shared<data::TokenBatches>(data::TokenOptions{5, 16},
                                                data::BatchStreamOptions{.batch = 3, .seed = 7});
  });
  const TimedSteps steps = time_steps(replicas, {.warmup_steps = 1, .steps = 3, .batches = &batches});
  EXPECT_EQ(steps.images_consumed, 9);
  EXPECT_EQ(batches.fill(0), 3);
  const data::TokenBatches maker({5, 16}, {.batch = 3, .seed = 7});
  std::vector<std::int32_t> tokens(6 * 3), lengths(3);
  data::BatchMaker::Scratch scratch;
  maker.make(4, reinterpret_cast<std::byte*>(tokens.data()), lengths.data(), scratch);
  const engine::Executor& executor = replicas.session(0).executor();
  const auto read = [&](const char* name) {
    const HostTensor tensor = executor.read(name);
    return std::vector<std::int32_t>(tensor.as<std::int32_t>().begin(), tensor.as<std::int32_t>().end());
  };
  EXPECT_EQ(read("tokens"), tokens);
  EXPECT_EQ(read("lengths"), lengths);
}

}  // namespace
}  // namespace trainyard::train
