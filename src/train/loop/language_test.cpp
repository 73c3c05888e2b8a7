// Tests that training comes near the least loss of a made-up language, which is known exactly.

#include "data/source/language.h"

#include <gtest/gtest.h>

#include "train/loop/training.h"
#include "train/session/evaluate.h"

namespace trainyard::train {
namespace {

constexpr std::uint64_t kLanguage = 1;
constexpr std::int64_t kLanguageWords = 16, kLanguageLength = 32, kLanguageUpdates = 1000,
                       kLanguageWarmup = 50;

SessionOptions language_learner() {
  SessionOptions options;
  options.model = {.network = "transformer",
                   .batch = 32,
                   .parameters = {{"layers", "2"},
                                  {"width", "64"},
                                  {"heads", "2"},
                                  {"length", std::to_string(kLanguageLength)},
                                  {"vocabulary", std::to_string(kLanguageWords)}}};
  options.update.rule = ops::Rule::adam;
  options.update.schedule = {.kind = ops::Schedule::Kind::cosine,
                             .rate = 0.003,
                             .decay_steps = kLanguageUpdates - kLanguageWarmup,
                             .warmup_steps = kLanguageWarmup};
  options.threads = 1;
  return options;
}

TEST(LearntLanguage, ATransformerComesWithinTwoPercentOfItsEntropy) {
  const SessionOptions session = language_learner();
  const networks::NetworkInfo network = networks::find_network("transformer", session.model.parameters);
  const data::Dataset dataset =
      data::make_language(kLanguage, sequences_for(network, session.model.parameters));
  Replicas replicas(session, {});
  const TrainOptions loop{.steps = kLanguageUpdates,
                          .preprocess = match_input(network, dataset, "").preprocess};
  const TrainResult result = run_training(replicas, dataset, loop, nullptr);
  ASSERT_TRUE(result.test_loss.has_value());
  const data::Language language(kLanguage, kLanguageWords);
  const double least = dataset.least_loss.value(), of_tests = dataset.least_test_loss();
  EXPECT_LT(*result.test_loss, 1.02 * least);
  EXPECT_LT(*result.test_loss, 1.02 * of_tests);
  EXPECT_GT(*result.test_loss, of_tests);
  EXPECT_NEAR(of_tests, least, 0.01 * least);  // some 32,000 words
  // A network that sees the last word alone cannot.
  EXPECT_GT(language.least_loss(1), 1.1 * least);
}

}  // namespace
}  // namespace trainyard::train
