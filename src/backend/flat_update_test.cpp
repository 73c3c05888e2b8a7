#include "backend/flat_update.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace trainyard::backend {
namespace {

using ops::Rule;
using ops::UpdateAttrs;

struct Case {
  const char* name;
  UpdateAttrs attrs;
};

constexpr std::int64_t kElements = 403;

class FlatUpdateTest : public testing::TestWithParam<std::tuple<Case, bool>> {
 protected:
  using Floats = std::vector<float>;
  struct State {
    Floats parameters = numbers("p"),
           slots[FlatUpdate::kMaxSlots] = {positive("0"), positive("1"), numbers("2")};
    bool operator==(const State&) const = default;
  };

  static Floats numbers(const char* name) {
    const Philox random(1, stream_of(name));
    Floats made(kElements);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = to_unit_float(random.word(i)) - 0.5f;
    return made;
  }
  // Squares are among the slots, and their roots are taken.
  static Floats positive(const char* name) {
    Floats made = numbers(name);
    for (float& number : made) number += 0.5f;
    return made;
  }

  static UpdateAttrs attrs() {
    UpdateAttrs attrs = std::get<0>(GetParam()).attrs;
    attrs.schedule.rate = 0.1;
    if (std::get<1>(GetParam())) attrs.ema_decay = 0.99;
    return attrs;
  }

  FlatUpdate::Arrays from(const State& old, State& made) const {
    FlatUpdate::Arrays arrays{old.parameters.data(), gradient_.data(), {}, made.parameters.data(), {}};
    for (std::size_t s = 0; s < FlatUpdate::kMaxSlots; ++s) {
      arrays.slots[s] = old.slots[s].data();
      arrays.new_slots[s] = made.slots[s].data();
    }
    return arrays;
  }

  // Element by element: no vector is ever full.
  State by_elements() const {
    State state;
    for (std::int64_t i = 0; i < kElements; ++i) update_.apply(from(state, state), i, i + 1, 3);
    return state;
  }

  const FlatUpdate update_{attrs()};
  const Floats gradient_ = numbers("g");
};

TEST_P(FlatUpdateTest, BitsDoNotDependOnWhereARangeBegins) {
  const State want = by_elements();
  for (std::int64_t first = 0; first <= 16; ++first)
    for (const std::int64_t piece : {1, 3, 8, 16, 17, 31, 64, 400}) {
      State state;
      update_.apply(from(state, state), 0, first, 3);
      for (std::int64_t begin = first; begin < kElements; begin += piece)
        update_.apply(from(state, state), begin, std::min(begin + piece, kElements), 3);
      ASSERT_EQ(state, want) << "from " << first << " in pieces of " << piece;
    }
}

TEST_P(FlatUpdateTest, NewArraysGetWhatOldOnesWouldAndOldOnesStay) {
  const State old;
  State made;
  for (Floats* floats : {&made.parameters, &made.slots[0], &made.slots[1], &made.slots[2]})
    std::fill(floats->begin(), floats->end(), -7.0f);
  update_.apply(from(old, made), 0, kElements, 3);
  const State want = by_elements();
  EXPECT_EQ(old, State());
  EXPECT_EQ(made.parameters, want.parameters);
  for (std::size_t s = 0; s < FlatUpdate::kMaxSlots; ++s)
    EXPECT_EQ(made.slots[s],
              s < static_cast<std::size_t>(update_.slots()) ? want.slots[s] : Floats(kElements, -7.0f));
}

TEST_P(FlatUpdateTest, MovesEveryParameter) {
  const State old, moved = by_elements();
  for (std::size_t i = 0; i < old.parameters.size(); ++i) {
    ASSERT_NE(moved.parameters[i], old.parameters[i]) << "element " << i;
    ASSERT_TRUE(std::isfinite(moved.parameters[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, FlatUpdateTest,
    testing::Combine(
        testing::Values(Case{"sgd", {.rule = Rule::sgd, .weight_decay = 0.01}},
                        Case{"momentum", {.rule = Rule::momentum}},
                        Case{"nesterov", {.rule = Rule::momentum, .nesterov = true, .weight_decay = 1e-3}},
                        Case{"rmsprop", {.rule = Rule::rmsprop, .epsilon = 1e-3}},
                        Case{"adam", {.rule = Rule::adam}},
                        Case{"adamw", {.rule = Rule::adam, .weight_decay = 0.1, .decoupled_decay = true}}),
        testing::Bool()),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) ? "_ema" : "");
    });

}  // namespace
}  // namespace trainyard::backend
