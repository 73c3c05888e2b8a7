#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "train/session/session.h"

// The recurrent family in whole training steps.
namespace trainyard {
namespace {

constexpr std::int64_t kLength = 12, kBatch = 8, kVocabulary = 10;

train::SessionOptions options_for(const std::string& cell) {
  train::SessionOptions options;
  options.model = {.network = "rnn",
                   .batch = kBatch,
                   .parameters = {{"cell", cell},
                                  {"layers", "2"},
                                  {"hidden", "32"},
                                  {"length", std::to_string(kLength)},
                                  {"vocabulary", std::to_string(kVocabulary)}}};
  options.update.rule = ops::Rule::adam;
  options.update.schedule.rate = 0.01;
  options.seed = 5;
  return options;
}

class Sequences : public testing::TestWithParam<const char*> {};

// 1 2 3 2 1 2 3 2 ...: what follows a 2 depends on what was before it, so that a network without a memory
// keeps a loss of at least a quarter of log 2.
TEST_P(Sequences, ThePeriodIsLearned) {
  train::Session session(options_for(GetParam()));
  engine::Executor& executor = session.executor();
  const std::int32_t period[] = {1, 2, 3, 2};
  const auto tokens = executor.host_view<std::int32_t>("tokens");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t step = i / kBatch, sequence = i % kBatch;
    // Begins with a 1 or a 3: from a 2 nobody can tell the way.
    tokens[i] = period[(step + 2 * sequence) % 4];
  }
  const auto lengths = executor.host_view<std::int32_t>("lengths");
  for (std::size_t n = 0; n < lengths.size(); ++n) lengths[n] = static_cast<std::int32_t>(kLength - n % 3);
  executor.run({5, 0});
  const float first = session.loss();
  EXPECT_GT(first, 1.0f);
  for (int step = 1; step < 300; ++step) executor.run({5, step});
  EXPECT_LT(session.loss(), 0.02f);
}

TEST_P(Sequences, WhatLiesBehindTheLengthsDoesNotMatter) {
  const auto loss_with = [&](std::int32_t behind) {
    train::Session session(options_for(GetParam()));
    engine::Executor& executor = session.executor();
    engine::initialise_inputs(executor, 3);
    const auto lengths = executor.host_view<std::int32_t>("lengths");
    const auto tokens = executor.host_view<std::int32_t>("tokens");
    for (std::int64_t n = 0; n < kBatch; ++n) {
      lengths[static_cast<std::size_t>(n)] = 4;
      for (std::int64_t t = 5; t <= kLength; ++t) tokens[static_cast<std::size_t>(t * kBatch + n)] = behind;
    }
    for (int step = 0; step < 3; ++step) executor.run({5, step});
    return session.loss();
  };
  EXPECT_EQ(loss_with(0), loss_with(7));
}

// Threads share rows, columns and units, never a sum; only inside oneDNN's matrix products the order of
// adding may differ.
TEST_P(Sequences, ThreadsChangeNothing) {
  const auto losses = [&](int threads) {
    train::SessionOptions options = options_for(GetParam());
    options.threads = threads;
    train::Session session(options);
    engine::initialise_inputs(session.executor(), 3);
    std::vector<float> values;
    for (int step = 0; step < 5; ++step) {
      session.executor().run({5, step});
      values.push_back(session.loss());
    }
    return values;
  };
  const std::vector<float> one = losses(1), all = losses(0);
  for (std::size_t step = 0; step < one.size(); ++step) EXPECT_NEAR(one[step], all[step], 1e-5f) << step;
}

INSTANTIATE_TEST_SUITE_P(Cells, Sequences, testing::Values("rnn", "lstm", "gru"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace trainyard
