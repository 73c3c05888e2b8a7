#include "data/view/batch_maker.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::data {

namespace {

class OneSequence final : public SampleSource {
 public:
  std::int64_t size() const override { return 1; }
  Sample read(std::int64_t, Scratch& scratch) const override {
    const std::span<std::int32_t> tokens = tokens_in(scratch, 100);
    std::fill(tokens.begin(), tokens.end(), 3);
    return {std::as_bytes(tokens), 100};
  }
};

struct Made {
  std::vector<std::int32_t> tokens, lengths;
};

Made made(std::int64_t step, const BatchStreamOptions& options) {
  const Dataset dataset = make_synthetic_sequences({9, 20}, options.seed);
  const TokenBatches maker(dataset, options);
  Made batch{std::vector<std::int32_t>(static_cast<std::size_t>(maker.input_shape().elements())),
             std::vector<std::int32_t>(static_cast<std::size_t>(options.batch))};
  BatchMaker::Scratch scratch = maker.scratch();
  EXPECT_EQ(
      maker.make(step, reinterpret_cast<std::byte*>(batch.tokens.data()), batch.lengths.data(), scratch),
      options.batch);
  return batch;
}

TEST(TokenBatches, AreOfTheVocabularyAndDifferFromStepToStep) {
  const Made first = made(0, {.batch = 100});
  const auto [least, most] = std::minmax_element(first.tokens.begin(), first.tokens.end());
  EXPECT_EQ(*least, 0);
  EXPECT_EQ(*most, 19);
  EXPECT_EQ(std::set<std::int32_t>(first.lengths.begin(), first.lengths.end()),
            (std::set<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(made(0, {.batch = 100}).tokens, first.tokens);
  EXPECT_NE(made(1, {.batch = 100}).tokens, first.tokens);
  EXPECT_NE(made(0, {.batch = 100, .seed = 2}).tokens, first.tokens);
}

// Returns the questions and the labels of a batch of 6 sequences of 9 steps, of which 10 or more tests exist.
std::vector<std::int32_t> masked(std::int64_t step, std::uint64_t seed, Pass pass) {
  const Dataset dataset = make_synthetic_sequences({9, 20, true}, 1);
  const TokenBatches maker(dataset, {.pass = pass,
                                     .split = pass == Pass::training ? Split::train : Split::test,
                                     .preprocess = {.name = "masked-token", .output = {}},
                                     .batch = 6,
                                     .seed = seed});
  EXPECT_EQ(maker.input_shape(), (Shape{18, 6}));
  std::vector<std::int32_t> tokens(18 * 6), lengths(6);
  BatchMaker::Scratch scratch = maker.scratch();
  maker.make(step, reinterpret_cast<std::byte*>(tokens.data()), lengths.data(), scratch);
  for (std::size_t t = 0; t < 9; ++t)
    for (std::size_t n = 0; n < 6; ++n) {
      const std::int32_t read = tokens[6 * t + n], label = tokens[54 + 6 * t + n];
      EXPECT_LT(label, 19);  // the mask is never asked for, and hides nothing else
      EXPECT_TRUE(t < static_cast<std::size_t>(lengths[n]) || label == TokenMask::kNoLabel);
      EXPECT_TRUE(label != TokenMask::kNoLabel || read != 19);
    }
  return tokens;
}

TEST(TokenBatches, MaskedTokensHaveTheirLabelsBehindThem) {
  const std::vector<std::int32_t> first = masked(0, 1, Pass::training);
  EXPECT_EQ(masked(0, 1, Pass::training), first);
  EXPECT_NE(masked(1, 1, Pass::training), first);
  EXPECT_NE(masked(0, 2, Pass::training), first);
  // Runs of all seeds are asked the same in their evaluation.
  EXPECT_EQ(masked(3, 1, Pass::evaluation), masked(3, 2, Pass::evaluation));
}

TEST(TokenBatches, EveryEpochAsksForOtherTokens) {
  Dataset dataset;
  dataset.kind = SampleKind::tokens;
  dataset.classes = 20;
  dataset.train.samples = std::make_shared<OneSequence>();
  const TokenBatches maker(dataset, {.preprocess = {.name = "masked-token", .output = {}}, .batch = 1});
  std::set<std::vector<std::int32_t>> seen;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<std::int32_t> tokens(2 * 100), lengths(1);
    BatchMaker::Scratch scratch = maker.scratch();
    maker.make(epoch, reinterpret_cast<std::byte*>(tokens.data()), lengths.data(), scratch);
    seen.insert(tokens);
  }
  EXPECT_EQ(seen.size(), 20u);
}

TEST(BoxBatches, HaveTheBoxesOfTheirImages) {
  const SyntheticOptions options{
      .image_shape = {3, 32, 48}, .classes = 5, .train_images = 10, .test_images = 4, .boxes = 12};
  const Dataset dataset = make_synthetic(options);
  ASSERT_EQ(dataset.kind, SampleKind::boxes);
  const BoxBatches maker(dataset, {.pass = Pass::evaluation, .split = Split::test, .batch = 3});
  EXPECT_EQ(maker.input_shape(), (Shape{3, 3, 32, 48}));
  EXPECT_EQ(maker.label_shape(), (Shape{3, 12, kBoxNumbers}));
  std::vector<float> images(3 * 3 * 32 * 48);
  std::vector<std::int32_t> boxes(3 * 12 * kBoxNumbers);
  BatchMaker::Scratch scratch;
  EXPECT_EQ(maker.make(1, reinterpret_cast<std::byte*>(images.data()), boxes.data(), scratch), 1);
  const Sample last = dataset.test.samples->read(3, scratch);
  EXPECT_EQ(std::memcmp(boxes.data(), last.bytes.data(), 12 * kBoxNumbers * sizeof(std::int32_t)), 0);
  const auto [least, most] = std::minmax_element(images.begin(), images.end());
  EXPECT_GE(*least, 0.0f);
  EXPECT_LE(*most, 1.0f);
  ASSERT_GE(last.label, 1);
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::int32_t* box = boxes.data() + i * kBoxNumbers;
    if (i >= last.label) {
      EXPECT_EQ(box[0], -1);
      continue;
    }
    EXPECT_TRUE(box[0] >= 0 && box[0] < 5);
    EXPECT_TRUE(0 <= box[1] && box[1] < box[3] && box[3] <= 48);
    EXPECT_TRUE(0 <= box[2] && box[2] < box[4] && box[4] <= 32);
  }
  // The last box lies before the others, and its first row has one colour.
  const std::int32_t* box = boxes.data() + (last.label - 1) * kBoxNumbers;
  const float* row = images.data() + box[2] * 48;
  EXPECT_EQ(std::set<float>(row + box[1], row + box[3]).size(), 1u);
}

TEST(TokenBatches, WorkersShareOneOrder) {
  const Made whole = made(0, {.batch = 4}), left = made(0, {.batch = 2, .worker = 0, .workers = 2}),
             right = made(0, {.batch = 2, .worker = 1, .workers = 2});
  EXPECT_EQ(whole.lengths,
            (std::vector{left.lengths[0], left.lengths[1], right.lengths[0], right.lengths[1]}));
  for (std::size_t t = 0; t < 10; ++t)
    EXPECT_EQ(std::vector(whole.tokens.begin() + 4 * t, whole.tokens.begin() + 4 * (t + 1)),
              (std::vector{left.tokens[2 * t], left.tokens[2 * t + 1], right.tokens[2 * t],
                           right.tokens[2 * t + 1]}));
}

TEST(TokenBatches, RefusesWhatNoBatchCanBe) {
  const Dataset dataset = make_synthetic_sequences({9, 20}, 1);
  EXPECT_THROW(TokenBatches(dataset, {.batch = 0}), Error);
}

}  // namespace

}  // namespace trainyard::data
