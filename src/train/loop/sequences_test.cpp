// Networks that read sequences are trained, evaluated and resumed like all others.

#include <gtest/gtest.h>

#include "base/cores.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/test_folder.h"
#include "data/source/dataset.h"
#include "train/loop/ps_worker.h"
#include "train/loop/training.h"
#include "train/session/evaluate.h"

namespace trainyard::train {
namespace {

constexpr std::int64_t kLength = 12;

// Sentences of a few words in random order.
std::string made_up_text(int words) {
  const std::array kWords{"the", "program", "is",    "free", "software",
                          "you", "can",     "share", "and",  "change it."};
  std::string text;
  for (int i = 0; i < words; ++i)
    text += std::string(kWords[Philox(3, 1).word(static_cast<std::uint64_t>(i)) % kWords.size()]) + " ";
  return text;
}

// Returns the entropy of the distribution of bytes, in nats: the loss of a network that looks at nothing.
double entropy_of(const std::string& text) {
  std::array<double, 256> counts{};
  for (const char byte : text) ++counts[static_cast<unsigned char>(byte)];
  double entropy = 0;
  for (const double count : counts)
    if (count > 0)
      entropy -=
          count / static_cast<double>(text.size()) * std::log(count / static_cast<double>(text.size()));
  return entropy;
}

class SequencesTest : public testing::Test {
 protected:
  SequencesTest() : text_(made_up_text(2000)) {
    dataset_ = data::load_dataset({.name = "text:" + folder_.write("text", text_).string(),
                                   .tokens = data::SequenceOptions{kLength, data::kByteVocabulary}});
  }

  static SessionOptions session(std::int64_t batch) {
    SessionOptions options;
    options.model = {.network = "rnn",
                     .batch = batch,
                     .parameters = {{"cell", "gru"},
                                    {"layers", "1"},
                                    {"hidden", "24"},
                                    {"length", std::to_string(kLength)},
                                    {"vocabulary", "256"}}};
    options.update.rule = ops::Rule::adam;
    options.update.schedule.rate = 0.01;
    options.threads = 1;
    return options;
  }

  TrainOptions loop(std::int64_t steps) const {
    const auto input = match_input(networks::find_network("rnn"), dataset_, "");
    return {.steps = steps, .preprocess = input.preprocess, .checkpoint_every = 3};
  }

  const TestFolder folder_;
  const std::string text_;
  data::Dataset dataset_;
};

TEST_F(SequencesTest, ATextIsLearntBeyondTheEntropyOfItsBytes) {
  Replicas replicas(session(16), {});
  const TrainResult result = run_training(replicas, dataset_, loop(200), nullptr);
  EXPECT_NEAR(result.first_loss, std::log(256.0), 0.2);
  ASSERT_TRUE(result.test_loss.has_value());
  EXPECT_LT(*result.test_loss, 0.7 * entropy_of(text_));
  EXPECT_GT(result.test_accuracy.value(), 0.3);
}

// A small encoder on a made-up language, in which words follow from those before and behind.
struct Encoder {
  SessionOptions session;
  data::Dataset dataset;
  TrainOptions loop;

  explicit Encoder(std::int64_t steps) {
    session.model = {.network = "transformer",
                     .batch = 64,
                     .parameters = {{"causal", "no"},
                                    {"layers", "2"},
                                    {"width", "64"},
                                    {"heads", "2"},
                                    {"length", "6"},
                                    {"vocabulary", "33"},
                                    {"norm_place", "post"},
                                    {"activation", "gelu"},
                                    {"head", "transform"}}};
    session.update.rule = ops::Rule::adam;
    session.update.schedule.rate = 0.003;
    session.threads = 1;
    const networks::NetworkInfo network = networks::find_network("transformer", session.model.parameters);
    dataset = data::load_dataset(
        {.name = "language:1", .tokens = sequences_for(network, session.model.parameters)});
    loop = {.steps = steps, .preprocess = match_input(network, dataset, "").preprocess};
  }
};

TEST(MaskedTokens, AnEncoderLearnsThemFromBothSides) {
  const Encoder encoder(800);
  EXPECT_EQ(encoder.loop.preprocess.name, "masked-token");
  EXPECT_EQ(encoder.dataset.least_loss, std::nullopt);
  Replicas replicas(encoder.session, {});
  const TrainResult result = run_training(replicas, encoder.dataset, encoder.loop, nullptr);
  EXPECT_NEAR(result.first_loss, std::log(33.0), 0.3);
  // A network that looks at nothing knows only how often each word occurs.
  std::array<double, 32> counts{};
  double words = 0, entropy = 0;
  data::SampleSource::Scratch scratch;
  for (std::int64_t i = 0; i < 500; ++i) {
    const data::Sample sample = encoder.dataset.test.samples->read(i, scratch);
    for (const std::int32_t word : std::span(reinterpret_cast<const std::int32_t*>(sample.bytes.data()), 6)) {
      ++counts.at(static_cast<std::size_t>(word));
      ++words;
    }
  }
  for (const double count : counts)
    if (count > 0) entropy -= count / words * std::log(count / words);
  ASSERT_TRUE(result.test_loss.has_value());
  EXPECT_LT(*result.test_loss, 0.75 * entropy) << entropy;
  EXPECT_GT(result.test_accuracy.value(), 0.3);
}

TEST(MaskedTokens, OnlyTheyAreEvaluated) {
  const Encoder encoder(1);
  Session untrained(encoder.session);
  Evaluator evaluator(untrained, data::batches_of(encoder.dataset), encoder.loop.preprocess);
  std::int64_t asked = 0;
  evaluator.evaluate([&](std::span<const float> logits, std::int32_t label) {
    ASSERT_EQ(logits.size(), 33u);
    ASSERT_GE(label, 0);
    ++asked;
  });
  const auto steps = static_cast<double>(encoder.dataset.size(data::Split::test) * 6);
  // A sequence without a token that was drawn, 0.85^6 of all, is asked for one nevertheless.
  EXPECT_NEAR(static_cast<double>(asked) / steps, 0.15 + std::pow(0.85, 6) / 6, 0.015);
}

TEST(MaskedTokens, WhoSeesTheAnswerIsNotAskedForIt) {
  const Encoder encoder(1);
  const networks::NetworkInfo both = networks::find_network("transformer", encoder.session.model.parameters),
                              causal = networks::find_network("transformer");
  expect_error(ErrorKind::usage,
               "preprocess next-token: network 'transformer' sees the tokens that it would have to say; "
               "masked-token expected",
               [&] { match_input(both, encoder.dataset, "next-token"); });
  expect_error(ErrorKind::usage,
               "preprocess masked-token: network 'transformer' does not see the tokens behind a masked one; "
               "next-token expected",
               [&] { match_input(causal, encoder.dataset, "masked-token"); });
}

TEST(MaskedTokens, TheMaskIsNoTokenOfTheData) {
  const TestFolder folder;
  const std::string text = "text:" + folder.write("text", made_up_text(200)).string();
  const auto load = [](const std::string& name, std::int64_t vocabulary) {
    return data::load_dataset({.name = name, .tokens = data::SequenceOptions{8, vocabulary, true}});
  };
  EXPECT_EQ(load(text, 257).classes, 257);
  EXPECT_EQ(load(text, 123).classes, 123);  // the largest byte is a y, 121
  expect_error(ErrorKind::usage,
               "vocabulary 122 is too small: '" + text.substr(5) +
                   "' has byte 121, and the last token is the mask; 257 takes any text",
               [&] { load(text, 122); });
  expect_error(ErrorKind::usage,
               "vocabulary 2: a language has 2 to 65536 words, and the last token is the mask",
               [&] { load("language:1", 2); });
}

TEST_F(SequencesTest, TheEvaluationIsTheMeanLossOfTheSteps) {
  Session untrained(session(4));
  Evaluator evaluator(untrained, data::batches_of(dataset_), loop(1).preprocess);
  EXPECT_EQ(evaluator.loss(), std::nullopt);
  evaluator.accuracy();
  EXPECT_NEAR(evaluator.loss().value(), std::log(256.0), 0.3);
  std::int64_t steps = 0;
  double losses = 0;
  evaluator.evaluate([&](std::span<const float> logits, std::int32_t label) {
    ASSERT_EQ(logits.size(), 256u);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    losses += std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(label)]);
    ++steps;
  });
  EXPECT_EQ(steps, dataset_.size(data::Split::test) * kLength);
  EXPECT_NEAR(evaluator.loss().value(), losses / static_cast<double>(steps), 1e-5);
}

TEST_F(SequencesTest, ResumedRunEndsBitIdentical) {
  const auto run = [&](const char* name, std::int64_t steps, bool resume) {
    Replicas replicas(session(8), {});
    const RunFolder out(folder_.path() / name, resume ? Existing::resume : Existing::refuse);
    TrainOptions options = loop(steps);
    options.resume = resume;
    return run_training(replicas, dataset_, options, &out);
  };
  const TrainResult whole = run("whole", 10, false);
  run("cut", 4, false);
  const TrainResult rest = run("cut", 10, true);
  EXPECT_EQ(rest.first_step, 4);
  EXPECT_EQ(read_file(*rest.checkpoint / "tensors.bin"), read_file(*whole.checkpoint / "tensors.bin"));
  EXPECT_EQ(rest.test_loss, whole.test_loss);
}

TEST_F(SequencesTest, TwoDevicesEqualOneBigBatch) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  SessionOptions half = session(4);
  half.threads = 2;
  Replicas big(session(8), {}), split(half, {Strategy::towers_host, 2, Scaling::strong});
  const TrainResult expected = run_training(big, dataset_, loop(6), nullptr);
  const TrainResult found = run_training(split, dataset_, loop(6), nullptr);
  EXPECT_EQ(found.images_consumed, 48);
  EXPECT_NEAR(found.first_loss, expected.first_loss, 1e-5);
  EXPECT_NEAR(found.final_loss, expected.final_loss, 1e-4);
  EXPECT_NEAR(found.test_loss.value(), expected.test_loss.value(), 1e-4);
}

TEST_F(SequencesTest, TransformersOnTwoDevicesEqualOneBigBatch) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  const data::Dataset language =
      data::load_dataset({.name = "language:3", .tokens = data::SequenceOptions{kLength, 32}});
  const auto transformer = [](std::int64_t batch) {
    SessionOptions options = session(batch);
    options.model.network = "transformer";
    options.model.parameters = {{"layers", "2"},
                                {"width", "16"},
                                {"heads", "2"},
                                {"length", std::to_string(kLength)},
                                {"vocabulary", "32"}};
    options.update.rule = ops::Rule::momentum;
    return options;
  };
  Replicas big(transformer(8), {});
  const TrainResult expected = run_training(big, language, loop(6), nullptr);
  for (const Strategy strategy : {Strategy::towers_device, Strategy::towers_host, Strategy::allreduce}) {
    SCOPED_TRACE(name(strategy));
    SessionOptions half = transformer(4);
    half.threads = 2;
    Replicas split(half, {strategy, 2, Scaling::strong});
    const TrainResult found = run_training(split, language, loop(6), nullptr);
    EXPECT_EQ(found.images_consumed, 48);
    EXPECT_NEAR(found.first_loss, expected.first_loss, 1e-5);
    EXPECT_NEAR(found.final_loss, expected.final_loss, 1e-5);
    EXPECT_NEAR(found.test_loss.value(), expected.test_loss.value(), 1e-4);
  }
}

TEST_F(SequencesTest, DataAndNetworkMustAgree) {
  const networks::NetworkInfo rnn = networks::find_network("rnn"), lenet = networks::find_network("lenet");
  expect_error(ErrorKind::usage, "network 'rnn' reads sequences, and data set 'mnist' has decoded images",
               [&] { want_readable(rnn, "mnist"); });
  expect_error(ErrorKind::usage, "network 'lenet' reads images, and data set 'text:x' has tokens",
               [&] { want_readable(lenet, "text:x"); });
  EXPECT_NO_THROW(want_readable(rnn, "synthetic"));
  EXPECT_NO_THROW(want_readable(lenet, "synthetic"));
  expect_error(ErrorKind::config, "'unit' takes decoded images", [&] { match_input(rnn, dataset_, "unit"); });
}

// The thread that makes a batch ahead must not end the process.
TEST(LeasedBatches, AnErrorAheadIsMetByWhoAsks) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  for (int i = 0; i < 10; ++i) folder.write("a/" + std::to_string(i) + ".png", "no image");
  const data::Dataset dataset = data::load_dataset({.name = "folder:" + folder.path().string()});
  LeasedBatches batches(dataset, {.preprocess = {"unit", {1, 4, 4}}, .batch = 2});
  batches.prepare(1);
  expect_error(ErrorKind::config, "begin neither as a JPEG nor as a PNG", [&] { batches.get(1); });
}

}  // namespace
}  // namespace trainyard::train
