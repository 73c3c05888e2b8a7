#include "predict/kernels/step_intervals.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace trainyard::predict {
namespace {

// Makes steps of all lengths with kernels of all errors. The error of a step grows with the square root of
// its kernels' error, and is larger for a short step.
std::vector<JudgedStep> steps_by_law(std::uint64_t seed, int count) {
  const Philox draws(seed, 1);
  const auto uniform = [&](int i) {
    return (draws.word(static_cast<std::uint64_t>(i)) % 10000 + 1) / 10001.0;
  };
  std::vector<JudgedStep> steps;
  for (int i = 0; i < count; ++i) {
    JudgedStep one;
    one.step = {.seconds = 1e-4 * std::pow(1e4, uniform(4 * i)),
                .unknown = 0.1 * uniform(4 * i + 1),
                .error = 0.01 + 0.4 * uniform(4 * i + 2)};
    one.error = 2 * std::sqrt(one.step.error) * std::pow(one.step.seconds / 1e-3, -0.2) * uniform(4 * i + 3);
    steps.push_back(one);
  }
  return steps;
}

TEST(StepIntervalsTest, HoldNineTenthsOfEasyStepsAndOfDoubtfulOnes) {
  const StepIntervals intervals = calibrate(steps_by_law(1, 1000));
  int held[2] = {}, all[2] = {};
  for (const JudgedStep& one : steps_by_law(2, 4000)) {
    const std::size_t doubtful = one.step.seconds < 1e-3 && one.step.error > 0.2   ? 1
                                 : one.step.seconds > 1e-2 && one.step.error < 0.2 ? 0
                                                                                   : 2;
    if (doubtful > 1) continue;
    ++all[doubtful];
    held[doubtful] += one.error <= intervals.half(one.step);
  }
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(static_cast<double>(held[i]) / all[i], 0.9, 0.07) << i;
  EXPECT_GT(intervals.half({.seconds = 2e-4, .error = 0.4}),
            3 * intervals.half({.seconds = 1, .error = 0.05}));
}

TEST(StepIntervalsTest, OfFewStepsAreAllAlike) {
  const StepIntervals intervals = calibrate(steps_by_law(1, 12));
  EXPECT_GT(intervals.half({.seconds = 1e-4, .error = 0.4}), 0);
  EXPECT_EQ(intervals.half({.seconds = 1e-4, .error = 0.4}), intervals.half({.seconds = 1}));
}

TEST(StepIntervalsTest, AreOfTheirKindWhereThereIsEnoughOfIt) {
  std::vector<JudgedStep> steps = steps_by_law(1, 200);
  for (std::size_t i = 0; i < steps.size(); i += 4) {
    steps[i].step.kind = StepKind::dense;
    steps[i].error *= 3;
  }
  const StepIntervals intervals = calibrate(steps);
  const auto half = [&](StepKind kind) {
    return intervals.half({.seconds = 1e-2, .error = 0.1, .kind = kind});
  };
  EXPECT_GT(half(StepKind::dense), 2 * half(StepKind::convolutional));
  EXPECT_GT(half(StepKind::recurrent), half(StepKind::convolutional));  // none seen: as all
}

// The share also holds where some steps are four times as doubtful as the median: 361 of 400, ceil(401 x
// 0.9).
TEST(StepIntervalsTest, HoldExactlyTheirShareOfWhatTheyWereCalibratedBy) {
  constexpr int kLengths = 5, kSteps = 400;
  std::vector<JudgedStep> steps;
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = std::pow(10.0, -(i % kLengths));
    steps.push_back({{.seconds = seconds}, 0.15 * std::pow(seconds, -0.3) * (i + 1) / kSteps});
  }
  const StepIntervals intervals = calibrate(steps);
  int held = 0;
  for (const JudgedStep& one : steps) held += one.error <= intervals.half(one.step) * (1 + 1e-12);
  EXPECT_EQ(held, 361);
}

TEST(StepIntervalsTest, WithoutCalibrationThereAreNoneAndNoneIsEndless) {
  EXPECT_EQ(StepIntervals().half({.seconds = 1}), 0);
  StepIntervals wide;
  wide.halves.fill(2);
  wide.doubts[0] = {.exponent = -10, .typical = 1};
  EXPECT_EQ(wide.half({.seconds = 1e-9}), 3);
  EXPECT_EQ(wide.half({.seconds = 0}), 2);  // nothing to run
}

}  // namespace
}  // namespace trainyard::predict
