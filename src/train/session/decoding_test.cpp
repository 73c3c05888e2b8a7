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
