#pragma once

#include "base/standard.h"

namespace trainyard::predict {

// StepKind names the layers that take most of a step's seconds. Predictions of one kind go wrong alike.
enum class StepKind { convolutional, dense, recurrent };
inline constexpr std::size_t kStepKinds = 3;
const char* name(StepKind kind);

struct StepEstimate {
  double seconds = 0, kernel_seconds = 0;
  double known = 0;  // mean over its seconds: 0, nothing alike was measured
  // Measures of doubt. `unknown` sums squares of shares, because the errors of many different kernels cancel.
  // `error` is the mean over its seconds of the prediction errors of kernels nearby, as a logarithm.
  double unknown = 0, error = 0;
  StepKind kind = StepKind::convolutional;
};

// StepIntervals gives the width of 90 % intervals: a half for each kind of step, wider for a step that is
// more doubtful than others. Short steps are more doubtful, too.
struct StepIntervals {
  // The factor is (value / typical)^exponent, for seconds, unknown and error each.
  struct Doubt {
    double exponent = 0, typical = 1;
  };
  static constexpr std::size_t kDoubts = 3;
  static constexpr std::array<const char*, kDoubts> kDoubtNames{"seconds", "unknown", "error"};

  std::array<double, kStepKinds> halves{};  // as a logarithm, of a typical step; 0: not calibrated
  std::array<Doubt, kDoubts> doubts{};

  double doubt(const StepEstimate& step) const;  // 1: of a typical step
  double half(const StepEstimate& step) const;
  // On a device that nobody measured, so many doublings from the one most like it: it reaches other shares of
  // its figures.
  double half_elsewhere(const StepEstimate& step, double doublings) const;
};

inline constexpr double kNormalQuantile = 1.645;  // 90 % of a normal distribution lie within it

// JudgedStep is a step that was predicted as if its network had never been seen, and its error as a
// logarithm.
struct JudgedStep {
  StepEstimate step;
  double error = 0;
};
// REQUIRES: at least one.
StepIntervals calibrate(const std::vector<JudgedStep>& judged);

}  // namespace trainyard::predict
