#include "train/session/decoding.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "engine/canonical.h"
#include "plan/compile.h"

namespace trainyard::train {
namespace {

using Tokens = std::vector<std::int32_t>;

networks::generator::Given small(const std::string& positions, const std::string& experts = "0") {
  return {{"layers", "2"},  {"width", "32"},      {"heads", "4"},           {"kv_heads", "2"},
          {"length", "24"}, {"vocabulary", "50"}, {"positions", positions}, {"experts", experts}};
}

Tokens tokens_of(std::int64_t count) {
  Tokens tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<std::int32_t>((i * i + 3 * i) % 50));
  return tokens;
}

// The logits of all steps at once, without caches.
std::vector<float> logits_of_whole_sequence(const networks::generator::Given& given, const Tokens& tokens) {
  const networks::Model model =
      networks::build_model({.network = "transformer", .batch = 1, .parameters = given, .training = false});
  const auto backend =
      backend::make_backend("auto", DeviceSpec{}, backend::Precision::f32, backend::Effort::quick);
  engine::Executor executor(plan::compile(model.graph, *backend));
  engine::initialise_state(executor, 1);
  HostTensor all({25, 1}, DType::i32), lengths({1}, DType::i32);
  std::copy(tokens.begin(), tokens.end(), all.as<std::int32_t>().begin());
  lengths.as<std::int32_t>()[0] = 24;
  executor.write("tokens", all);
  executor.write("lengths", lengths);
  executor.run({});
  const HostTensor logits = executor.read(Session::kLogits);
  const auto numbers = logits.as<float>();
  return {numbers.begin(), numbers.end()};
}

TEST(Decoding, TokenByTokenSaysWhatTheWholeSequenceSays) {
  const Tokens tokens = tokens_of(24);
  using Choice = std::pair<const char*, const char*>;
  for (const auto& [positions, experts] :
       {Choice{"learned", "0"}, {"sinusoidal", "0"}, {"rotary", "0"}, {"none", "0"}, {"learned", "5"}}) {
    const auto given = small(positions, experts);
    const std::vector<float> whole = logits_of_whole_sequence(given, tokens);
    Decoding decoding({.decoder = {.network = "transformer", .parameters = given, .batch = 1, .steps = 7}});
    ASSERT_EQ(decoding.vocabulary(), 50);
    std::span<const float> logits = decoding.read_prompt(std::span(tokens).first(7));
    for (std::int64_t place = 7;; ++place) {
      ASSERT_EQ(decoding.place(), place);
      for (std::int64_t v = 0; v < 50; ++v)
        ASSERT_NEAR(logits[static_cast<std::size_t>(v)],
                    whole[static_cast<std::size_t>((place - 1) * 50 + v)], 1e-4)
            << positions << ", " << experts << " experts, at " << place;
      if (place == decoding.room()) break;
      logits = decoding.read_token(std::span(tokens).subspan(static_cast<std::size_t>(place), 1));
    }
  }
}

TEST(Decoding, LaterTokensChangeNoEarlierLogits) {
  constexpr std::int64_t kChanged = 13;
  const Tokens tokens = tokens_of(24);
  Tokens other = tokens;
  for (std::size_t i = kChanged; i < other.size(); ++i) other[i] = (other[i] + 7) % 50;
  for (const char* positions : {"learned", "rotary"}) {
    const std::vector<float> a = logits_of_whole_sequence(small(positions), tokens),
                             b = logits_of_whole_sequence(small(positions), other);
    EXPECT_TRUE(std::equal(a.begin(), a.begin() + kChanged * 50, b.begin()));
    EXPECT_FALSE(std::equal(a.begin() + kChanged * 50, a.end(), b.begin() + kChanged * 50));
  }
}

TEST(Decoding, SharedParametersSayTheSameInAnotherBatch) {
  const Tokens tokens = tokens_of(10);
  DecodingOptions options{
      .decoder = {.network = "transformer", .parameters = small("rotary"), .batch = 3, .steps = 7},
      .seed = 5};
  Decoding three(options);
  options.decoder.batch = 1;
  options.sharing = &three;
  Decoding one(options);
  Tokens of_three;
  for (std::size_t step = 0; step < 7; ++step) of_three.insert(of_three.end(), 3, tokens[step]);
  const auto expect_equal = [](std::span<const float> of_one, std::span<const float> of_all) {
    for (std::size_t i = 0; i < of_all.size(); ++i)
      ASSERT_NEAR(of_all[i], of_one[i % of_one.size()], 1e-4) << i;
  };
  expect_equal(one.read_prompt(std::span(tokens).first(7)), three.read_prompt(of_three));
  expect_equal(one.read_token(std::span(tokens).subspan(7, 1)), three.read_token(Tokens(3, tokens[7])));
  EXPECT_EQ(one.parameters(), three.parameters());
  EXPECT_EQ(3 * one.cache_bytes(), three.cache_bytes());
  EXPECT_LT(one.plan_bytes() + 4 * one.parameters(), three.plan_bytes());
}

// By the formulas: two layers, N sequences of width 32, two of four heads of keys and values, room for 24.
TEST(Decoding, AStepCostsWhatItsPlaceSays) {
  constexpr std::int64_t kBatch = 3, kLayers = 2, kWidth = 32, kCached = 16, kFloat = 4;
  const Decoding decoding(
      {.decoder = {.network = "transformer", .parameters = small("none"), .batch = kBatch, .steps = 7}});
  EXPECT_EQ(decoding.cache_bytes(), 2 * kLayers * kBatch * 24 * kCached * kFloat);
  const graph::Cost at = decoding.token_cost(9), after = decoding.token_cost(10);
  // One more step is seen: two products with each of its numbers, and its key and value are read.
  EXPECT_EQ(after.flops - at.flops, kLayers * 4 * kBatch * kWidth);
  EXPECT_EQ(after.bytes_moved - at.bytes_moved, 2 * kLayers * kBatch * kCached * kFloat);
  // A prompt sees 1, 2, ... 7 steps; its linear layers do seven times the work of a token's, the last but
  // one.
  const std::int64_t last = 2 * kBatch * kWidth * 50, seen = 7 * 8 / 2,
                     of_steps = at.flops - last - kLayers * 4 * kBatch * kWidth * 10;
  EXPECT_EQ(decoding.prompt_cost().flops, 7 * of_steps + last + kLayers * 4 * kBatch * kWidth * seen);
  EXPECT_GT(at.bytes_moved, kFloat * decoding.parameters() * 9 / 10);
}

TEST(Decoding, OnlyNetworksThatLookBackMakeText) {
  auto given = small("learned");
  given["causal"] = "no";
  EXPECT_THROW(Decoding({.decoder = {.network = "transformer", .parameters = given}}), Error);
  EXPECT_THROW(Decoding({.decoder = {.network = "rnn"}}), Error);
  EXPECT_THROW(Decoding({.decoder = {.network = "transformer", .parameters = small("none"), .steps = 25}}),
               Error);
}

TEST(DrawToken, FollowsTheProbabilities) {
  const std::vector<float> logits{0, std::log(3.0f), -100, std::log(2.0f)};
  std::vector<int> counts(4);
  for (std::uint64_t i = 0; i < 6000; ++i) ++counts[static_cast<std::size_t>(draw_token(logits, {}, i))];
  EXPECT_NEAR(counts[0], 1000, 120);
  EXPECT_NEAR(counts[1], 3000, 160);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3], 2000, 160);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(draw_token(logits, {.temperature = 0}, i), 1);
    EXPECT_EQ(draw_token(logits, {.among = 1}, i), 1);
    EXPECT_NE(draw_token(logits, {.among = 2}, i), 0);
  }
}

}  // namespace
}  // namespace trainyard::train
