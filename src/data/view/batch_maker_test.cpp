#include "data/view/batch_maker.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::data {

namespace {

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
