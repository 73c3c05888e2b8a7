#include <cmath>

#include <gtest/gtest.h>

#include "hand_example.h"
#include "ops/update.h"

// One parameter 1 with gradient 0.5 and rate 0.1, updated by hand.
namespace trainyard::conformance {
namespace {

using graph::ValueId;
using ops::Rule;
using ops::UpdateAttrs;

class Update : public testing::Test {
 protected:
  void make(UpdateAttrs attrs) {
    attrs.schedule.rate = 0.1;
    p_ = e_.parameter("p", {1}, {1});
    g_ = e_.input("g", {1}, {0.5});
    shadows_ = ops::update(e_.graph, "update", {p_}, {g_}, attrs);
  }
  double step(std::int64_t number) {
    e_.run({.seed = 1, .step = number});
    return e_[p_][0];
  }

  HandExample e_;
  ValueId p_ = 0, g_ = 0;
  std::vector<ValueId> shadows_;
};

TEST_F(Update, Sgd) {
  make({.rule = Rule::sgd});
  EXPECT_NEAR(step(0), 0.95, 1e-12);
}

TEST_F(Update, SgdWithDecay) {
  make({.rule = Rule::sgd, .weight_decay = 0.2});
  EXPECT_NEAR(step(0), 1 - 0.1 * (0.5 + 0.2), 1e-12);
}

TEST_F(Update, Momentum) {
  make({.rule = Rule::momentum});
  EXPECT_NEAR(step(0), 0.95, 1e-12);
  EXPECT_NEAR(step(1), 0.95 - 0.1 * (0.9 * 0.5 + 0.5), 1e-12);
}

TEST_F(Update, Nesterov) {
  make({.rule = Rule::momentum, .nesterov = true});
  EXPECT_NEAR(step(0), 1 - 0.1 * (0.5 + 0.9 * 0.5), 1e-12);
}

TEST_F(Update, RmsProp) {
  make({.rule = Rule::rmsprop, .epsilon = 1});
  const double first = 0.1 * 0.5 / std::sqrt(0.9 * 1 + 0.1 * 0.25 + 1);
  EXPECT_NEAR(step(0), 1 - first, 1e-12);
  EXPECT_NEAR(step(1), 1 - first - (0.9 * first + 0.1 * 0.5 / std::sqrt(0.9 * 0.925 + 0.1 * 0.25 + 1)),
              1e-12);
}

TEST_F(Update, Adam) {
  make({.rule = Rule::adam});
  EXPECT_NEAR(step(0), 0.9, 1e-8);  // the first step is as long as the rate
  e_.set(g_, {-1});
  const double m = (0.9 * 0.05 - 0.1) / (1 - 0.81);
  const double v = (0.999 * 0.00025 + 0.001) / (1 - 0.998001);
  EXPECT_NEAR(step(1), 0.9 - 0.1 * m / std::sqrt(v), 1e-8);
  EXPECT_NEAR(e_[p_][0], 0.9366104, 1e-7);
}

TEST_F(Update, AdamW) {
  make({.rule = Rule::adam, .weight_decay = 0.1, .decoupled_decay = true});
  EXPECT_NEAR(step(0), 0.9 - 0.1 * 0.1 * 1, 1e-8);
}

// The numbers are those of AdamW as Loshchilov and Hutter (2019) and PyTorch write it: p is first multiplied
// by 1 - rate * decay, then moved by Adam's step.
TEST_F(Update, AdamWOverSeveralSteps) {
  make({.rule = Rule::adam, .weight_decay = 0.1, .decoupled_decay = true});
  const double gradients[] = {0.5, -1, 0.25, 2, -0.5};
  const double wanted[] = {0.8900000020, 0.9177103542, 0.9222023168, 0.8681020855, 0.8339250306};
  for (int i = 0; i < 5; ++i) {
    e_.set(g_, {gradients[i]});
    EXPECT_NEAR(step(i), wanted[i], 1e-10) << "step " << i;
  }
}

TEST_F(Update, DecayOfMatricesLeavesVectorsAlone) {
  const ValueId matrix = e_.parameter("m", {1, 1}, {1}), vector = e_.parameter("v", {1}, {1}),
                d_matrix = e_.input("dm", {1, 1}, {0.5}), d_vector = e_.input("dv", {1}, {0.5});
  UpdateAttrs attrs{
      .rule = Rule::adam, .weight_decay = 0.1, .decoupled_decay = true, .decay_matrices_only = true};
  attrs.schedule.rate = 0.1;
  ops::update(e_.graph, "update", {matrix, vector}, {d_matrix, d_vector}, attrs);
  const double gradients[] = {0.5, -1, 0.25, 2, -0.5};
  for (int i = 0; i < 5; ++i) {
    for (const ValueId gradient : {d_matrix, d_vector}) e_.set(gradient, {gradients[i]});
    e_.run({.seed = 1, .step = i});
  }
  EXPECT_NEAR(e_[matrix][0], 0.8339250306, 1e-10);  // as AdamW
  EXPECT_NEAR(e_[vector][0], 0.8799051782, 1e-10);  // as Adam
}

// Gradients (3, 0) and (4) have the norm 5.
class ClippedUpdate : public Update {
 protected:
  void make(UpdateAttrs attrs) {
    attrs.schedule.rate = 0.1;
    a_ = e_.parameter("a", {2}, {1, 1});
    b_ = e_.parameter("b", {1, 1}, {1});
    const ValueId d_a = e_.input("da", {2}, {3, 0}), d_b = e_.input("db", {1, 1}, {4});
    ops::update(e_.graph, "update", {a_, b_}, {d_a, d_b}, attrs);
    e_.run({.seed = 1, .step = 0});
  }

  ValueId a_ = 0, b_ = 0;
};

TEST_F(ClippedUpdate, GradientsAreScaledToTheNorm) {
  make({.rule = Rule::sgd, .clip_norm = 1});
  expect_near(e_[a_], {1 - 0.1 * 0.6, 1});
  expect_near(e_[b_], {1 - 0.1 * 0.8});
}

TEST_F(ClippedUpdate, BelowTheNormTheyStay) {
  make({.rule = Rule::sgd, .clip_norm = 5});
  expect_near(e_[a_], {1 - 0.1 * 3, 1});
  expect_near(e_[b_], {1 - 0.1 * 4});
}

TEST_F(ClippedUpdate, ThePenaltyIsNotClipped) {
  make({.rule = Rule::sgd, .weight_decay = 0.5, .clip_norm = 1});
  expect_near(e_[a_], {1 - 0.1 * (0.6 + 0.5), 1 - 0.1 * 0.5});
}

TEST_F(Update, ShadowWeights) {
  make({.rule = Rule::sgd, .ema_decay = 0.9999});
  ASSERT_EQ(shadows_.size(), 1u);
  step(0);
  EXPECT_NEAR(e_[shadows_[0]][0], 0.1 * 1 + 0.9 * 0.95, 1e-12);  // d = (1 + 0) / (10 + 0)
  step(1);
  EXPECT_NEAR(e_[shadows_[0]][0], 2.0 / 11 * 0.955 + 9.0 / 11 * 0.9, 1e-12);
}

TEST_F(Update, RateFollowsTheSchedule) {
  make({.rule = Rule::sgd,
        .schedule = {.kind = ops::Schedule::Kind::step_decay, .factor = 0.1, .decay_steps = 10}});
  EXPECT_NEAR(step(10), 1 - 0.01 * 0.5, 1e-12);
}

TEST(UpdateAttrs, ShadowDecayGrowsToItsLimit) {
  const UpdateAttrs attrs{.ema_decay = 0.9999};
  EXPECT_DOUBLE_EQ(attrs.ema_decay_at(0), 0.1);
  EXPECT_DOUBLE_EQ(attrs.ema_decay_at(90), 0.91);
  EXPECT_DOUBLE_EQ(attrs.ema_decay_at(1000000), 0.9999);
}

}  // namespace
}  // namespace trainyard::conformance
