#include "ops/update.h"

#include <gtest/gtest.h>

namespace trainyard::ops {
namespace {

using Kind = Schedule::Kind;

TEST(Schedule, Constant) {
  const Schedule schedule{.rate = 0.3};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.3);
  EXPECT_DOUBLE_EQ(schedule.at(1000000), 0.3);
}

TEST(Schedule, StepDecay) {
  const Schedule schedule{.kind = Kind::step_decay, .rate = 0.1, .factor = 0.1, .decay_steps = 30};
  EXPECT_DOUBLE_EQ(schedule.at(29), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(30), 0.01);
  EXPECT_NEAR(schedule.at(60), 0.001, 1e-15);
}

TEST(Schedule, ExponentialDecay) {
  const Schedule schedule{
      .kind = Kind::exponential_decay, .rate = 0.01, .factor = 0.97, .decay_steps = 25000};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.01);
  EXPECT_NEAR(schedule.at(12500), 0.01 * std::sqrt(0.97), 1e-15);
  EXPECT_NEAR(schedule.at(25000), 0.0097, 1e-15);
  EXPECT_NEAR(schedule.at(50000), 0.009409, 1e-15);
}

// The decays run without stairs. ParaDnn's CNNs and language models both begin with 0.1.
TEST(Schedule, DecaysOfParaDnn) {
  const Schedule cnn{.kind = Kind::exponential_decay, .rate = 0.1, .factor = 0.97, .decay_steps = 25000},
      rnn{.kind = Kind::exponential_decay, .rate = 0.1, .factor = 0.9, .decay_steps = 10000};
  EXPECT_DOUBLE_EQ(cnn.at(0), 0.1);
  EXPECT_DOUBLE_EQ(cnn.at(25000), 0.1 * 0.97);
  EXPECT_LT(cnn.at(1), 0.1);
  EXPECT_DOUBLE_EQ(rnn.at(0), 0.1);
  EXPECT_DOUBLE_EQ(rnn.at(10000), 0.1 * 0.9);
  EXPECT_NEAR(rnn.at(25000), 0.1 * std::pow(0.9, 2.5), 1e-15);
}

TEST(Schedule, Cosine) {
  const Schedule schedule{.kind = Kind::cosine, .rate = 0.5, .decay_steps = 100, .final_rate = 0.1};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
  EXPECT_NEAR(schedule.at(50), 0.3, 1e-12);
  EXPECT_NEAR(schedule.at(100), 0.1, 1e-12);
  EXPECT_NEAR(schedule.at(500), 0.1, 1e-12);
}

TEST(Schedule, CosineBehindItsWarmUp) {
  const Schedule schedule{
      .kind = Kind::cosine, .rate = 6e-4, .decay_steps = 100, .final_rate = 6e-5, .warmup_steps = 20};
  EXPECT_DOUBLE_EQ(schedule.at(0), 6e-4 / 20);
  EXPECT_DOUBLE_EQ(schedule.at(9), 6e-4 / 2);
  EXPECT_DOUBLE_EQ(schedule.at(19), 6e-4);
  EXPECT_DOUBLE_EQ(schedule.at(20), 6e-4);
  EXPECT_NEAR(schedule.at(45), 6e-5 + 5.4e-4 * (1 + std::sqrt(0.5)) / 2, 1e-15);  // a quarter of the wave
  EXPECT_NEAR(schedule.at(70), 3.3e-4, 1e-15);
  EXPECT_NEAR(schedule.at(120), 6e-5, 1e-15);
  EXPECT_NEAR(schedule.at(1000), 6e-5, 1e-15);
}

TEST(Schedule, WarmUpComesFirst) {
  const Schedule schedule{
      .kind = Kind::step_decay, .rate = 0.4, .factor = 0.5, .decay_steps = 10, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(3), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(13), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(14), 0.2);
}

}  // namespace
}  // namespace trainyard::ops
