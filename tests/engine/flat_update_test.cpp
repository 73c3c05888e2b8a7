// A server updates its part of the parameters exactly as an executor updates all of them, bit for bit.
#include "backend/flat_update.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

using backend::FlatUpdate;
using ops::Rule;
using plan::Region;

class FlatUpdates : public testing::TestWithParam<ops::UpdateAttrs> {};

TEST_P(FlatUpdates, AreTheExecutors) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  train::SessionOptions options;
  options.model = {.network = "deepmnist", .batch = 2};
  options.update = GetParam();
  options.update.schedule.rate = 0.01;
  options.backend = "onednn";
  train::Session session(options);
  engine::Executor& executor = session.executor();
  const auto copy = [&](Region region) {
    const auto floats = executor.floats(region);
    return std::vector<float>(floats.begin(), floats.end());
  };
  std::vector<float> parameters = copy(Region::parameters), state = copy(Region::optimizer_state);
  const FlatUpdate update(options.update);
  const std::size_t count = parameters.size();
  ASSERT_EQ(state.size(), count * static_cast<std::size_t>(update.slots()));
  std::array<float*, FlatUpdate::kMaxSlots> slots{};
  for (std::size_t s = 0; s < static_cast<std::size_t>(update.slots()); ++s)
    slots[s] = state.data() + s * count;

  for (std::int64_t step = 0; step < 3; ++step) {
    engine::initialise_inputs(executor, static_cast<std::uint64_t>(step));
    executor.run_gradients({1, step});
    const std::vector<float> gradient = copy(Region::gradients);
    executor.run_update({1, step});
    constexpr std::int64_t kPiece = 10'007;  // odd, and no part of a thread's share
    const auto arrays = FlatUpdate::in_place(parameters.data(), gradient.data(), slots);
    for (std::int64_t begin = 0, end = static_cast<std::int64_t>(count); begin < end; begin += kPiece)
      update.apply(arrays, begin, std::min(begin + kPiece, end), step);
    ASSERT_EQ(parameters, copy(Region::parameters)) << "step " << step;
    ASSERT_EQ(state, copy(Region::optimizer_state)) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, FlatUpdates,
    testing::Values(
        ops::UpdateAttrs{.rule = Rule::sgd, .weight_decay = 1e-3}, ops::UpdateAttrs{.rule = Rule::momentum},
        ops::UpdateAttrs{.rule = Rule::momentum, .nesterov = true, .ema_decay = 0.99},
        ops::UpdateAttrs{.rule = Rule::rmsprop, .epsilon = 1, .ema_decay = 0.99},
        ops::UpdateAttrs{.rule = Rule::adam},
        ops::UpdateAttrs{
            .rule = Rule::adam, .weight_decay = 0.1, .decoupled_decay = true, .ema_decay = 0.99}));

}  // namespace
}  // namespace trainyard
