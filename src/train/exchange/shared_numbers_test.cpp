#include "train/exchange/shared_numbers.h"

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

SessionOptions options_of(const std::string& network, const std::string& backend = "auto") {
  SessionOptions options;
  options.model = {.network = network, .batch = 2, .classes = 10, .input = {3, 32, 32}};
  options.update.rule = ops::Rule::adam;
  options.backend = backend;
  options.threads = 1;
  options.keep_gradients = true;
  return options;
}

class Layouts : public testing::TestWithParam<std::tuple<const char*, WireLayout>> {};

TEST_P(Layouts, EveryGradientIsToldOnceAndIsWhatWasRun) {
  const auto& [network, layout] = GetParam();
  Session session(options_of(network));
  SharedNumbers numbers(session, layout);
  const auto count = static_cast<std::size_t>(numbers.elements());
  ASSERT_EQ(numbers.weights().size(), count);
  ASSERT_EQ(numbers.gradients().size(), count);
  std::vector<int> told(count);
  std::vector<float> when_told(count);
  numbers.run_gradients({1, 0}, [&](std::int64_t first, std::int64_t elements) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + elements); ++i) {
      ++told[i];
      when_told[i] = numbers.gradients()[i];
    }
  });
  EXPECT_EQ(*std::min_element(told.begin(), told.end()), 1);
  EXPECT_EQ(*std::max_element(told.begin(), told.end()), 1);
  EXPECT_TRUE(std::equal(when_told.begin(), when_told.end(), numbers.gradients().begin()));
}

TEST_P(Layouts, StateComesBackAndWeightsArrive) {
  const auto& [network, layout] = GetParam();
  Session session(options_of(network)), other(options_of(network));
  SharedNumbers numbers(session, layout), others(other, layout);
  EXPECT_EQ(numbers.fingerprint(), others.fingerprint());
  session.executor().run({1, 0});
  const ps::State state = numbers.read_state();
  ASSERT_EQ(state.arrays.size(), 3u);
  others.write_state(state);
  EXPECT_EQ(others.read_state().arrays, state.arrays);
  // This gets the same numbers in the way that a worker gets weights.
  Session worker(options_of(network));
  SharedNumbers its(worker, layout);
  std::copy(state.arrays[0].begin(), state.arrays[0].end(), its.weights().begin());
  its.take_weights();
  EXPECT_EQ(its.read_state().arrays[0], state.arrays[0]);
}

INSTANTIATE_TEST_SUITE_P(All, Layouts,
                         testing::Combine(testing::Values("cifarnet", "resnet20"),
                                          testing::Values(WireLayout::native, WireLayout::canonical)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + name(std::get<1>(test.param));
                         });

TEST(SharedNumbers, UnlikeKernelsMeanTheSameByTheCanonicalArray) {
  Session fast(options_of("cifarnet")), plain(options_of("cifarnet", "reference"));
  SharedNumbers a(fast, WireLayout::canonical), b(plain, WireLayout::canonical);
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.read_state().arrays, b.read_state().arrays);
  Session another(options_of("resnet20"));
  EXPECT_NE(SharedNumbers(another, WireLayout::canonical).fingerprint(), a.fingerprint());
}

// Ten parameters and six statistics, dealt to two servers in keys of four.
const std::vector<ps::Key> kKeys{{0, 4, 0}, {4, 4, 1}, {8, 4, 0}, {12, 4, 1}};

TEST(ServerUpdate, ParametersMoveAndStatisticsAreTold) {
  ops::UpdateAttrs attrs;
  attrs.schedule.rate = 0.5;
  for (const int server : {0, 1}) {
    ServerUpdate update(attrs, kKeys, server, 10);
    EXPECT_EQ(update.slots(), 0);
    const std::vector<float> before(8, 1.0f), gradient(8, 4.0f);
    std::vector<float> after(8);
    update.apply({before, {}}, {after, {}}, gradient, 0, 2);
    const std::size_t parameters = server == 0 ? 6 : 4;  // its part of the first ten
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_EQ(after[i], i < parameters ? 1 - 0.5f * 4 : 2) << "server " << server << ", element " << i;
  }
}

TEST(ServerUpdate, WritesNothingOfWhatItReads) {
  ops::UpdateAttrs attrs;
  attrs.rule = ops::Rule::adam;
  attrs.ema_decay = 0.9;
  ServerUpdate update(attrs, {{0, 64, 0}}, 0, 64);
  ASSERT_EQ(update.slots(), 3);
  std::vector<float> before(64), slots(3 * 64), gradient(64, 0.25f);
  std::iota(before.begin(), before.end(), 0.0f);
  const std::vector<float> same = before, same_slots = slots;
  std::vector<float> after(64), after_slots(3 * 64);
  update.apply({before, slots}, {after, after_slots}, gradient, 3, 1);
  EXPECT_EQ(before, same);
  EXPECT_EQ(slots, same_slots);
  // In place it comes to the same.
  update.apply({before, slots}, {before, slots}, gradient, 3, 1);
  EXPECT_EQ(before, after);
  EXPECT_EQ(slots, after_slots);
}

}  // namespace
}  // namespace trainyard::train
