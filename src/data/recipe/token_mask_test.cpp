#include "data/recipe/token_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace trainyard::data {

namespace {

constexpr std::int64_t kVocabulary = 50;
constexpr std::int32_t kMask = kVocabulary - 1;

struct Asked {
  std::vector<std::int32_t> read, labels;
  bool operator==(const Asked&) const = default;
};

Asked asked_of(const std::vector<std::int32_t>& tokens, std::int64_t steps, const TokenMask::Draws& draws) {
  Asked asked{std::vector<std::int32_t>(tokens.size()), std::vector<std::int32_t>(tokens.size())};
  TokenMask(kVocabulary).apply(tokens, steps, draws, 1, asked.read.data(), asked.labels.data());
  return asked;
}

std::vector<std::int32_t> some_tokens(std::size_t count) {
  std::vector<std::int32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>(i * 7 % (kVocabulary - 1));
  return tokens;
}

TEST(TokenMask, AsksForTokensInTheSharesOfItsSource) {
  const std::vector<std::int32_t> tokens = some_tokens(200'000);
  const Asked found = asked_of(tokens, std::ssize(tokens), {3, 0});
  double labelled = 0, hidden = 0, left = 0, replaced = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (found.labels[i] == TokenMask::kNoLabel) {
      ASSERT_EQ(found.read[i], tokens[i]);
      continue;
    }
    ASSERT_EQ(found.labels[i], tokens[i]);
    ++labelled;
    ASSERT_GE(found.read[i], 0);
    ASSERT_LE(found.read[i], kMask);
    (found.read[i] == kMask ? hidden : found.read[i] == tokens[i] ? left : replaced) += 1;
  }
  EXPECT_NEAR(labelled / 200'000, 0.15, 0.004);
  EXPECT_NEAR(hidden / labelled, 0.8, 0.01);
  // One of the other tokens is by chance the one that it stands in for.
  EXPECT_NEAR(left / labelled, 0.1 + 0.1 / (kVocabulary - 1), 0.01);
  EXPECT_NEAR(replaced / labelled, 0.1 - 0.1 / (kVocabulary - 1), 0.01);
}

TEST(TokenMask, DependsOnTheSeedAndThePositionAlone) {
  const std::vector<std::int32_t> tokens = some_tokens(200);
  EXPECT_EQ(asked_of(tokens, 200, {3, 8}), asked_of(tokens, 200, {3, 8}));
  EXPECT_NE(asked_of(tokens, 200, {3, 8}), asked_of(tokens, 200, {3, 9}));
  EXPECT_NE(asked_of(tokens, 200, {3, 8}), asked_of(tokens, 200, {4, 8}));
}

TEST(TokenMask, EverySequenceIsAskedForATokenAmongThoseThatCount) {
  const std::vector<std::int32_t> tokens = some_tokens(12);
  for (std::int64_t steps = 1; steps <= 12; ++steps)
    for (std::int64_t position = 0; position < 50; ++position) {
      const std::vector<std::int32_t> labels = asked_of(tokens, steps, {1, position}).labels;
      const auto counts = labels.begin() + steps;
      EXPECT_GT(std::count_if(labels.begin(), counts, [](std::int32_t label) { return label >= 0; }), 0);
      EXPECT_EQ(std::count(counts, labels.end(), TokenMask::kNoLabel), 12 - steps);
    }
}

TEST(TokenMask, WritesAColumnOfABatch) {
  const std::vector<std::int32_t> tokens = some_tokens(20);
  const Asked alone = asked_of(tokens, 20, {5, 6});
  std::vector<std::int32_t> batch(2 * 20 * 3, -7);
  TokenMask(kVocabulary).apply(tokens, 20, {5, 6}, 3, batch.data() + 1, batch.data() + 60 + 1);
  for (std::size_t t = 0; t < 20; ++t) {
    EXPECT_EQ(batch[3 * t + 1], alone.read[t]);
    EXPECT_EQ(batch[60 + 3 * t + 1], alone.labels[t]);
  }
  EXPECT_EQ(std::count(batch.begin(), batch.end(), -7), 80);
}

}  // namespace

}  // namespace trainyard::data
