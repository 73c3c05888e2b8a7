#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace trainyard::predict {

// What a step spends most of its seconds on: predictions of one kind go wrong alike.
enum class StepKind { convolutional, dense, recurrent };
inline constexpr std::size_t kStepKinds = 3;
const char* name(StepKind kind);

struct StepEstimate {
  double seconds = 0, kernel_seconds = 0;
  double known = 0;  // mean over its seconds: 0, nothing alike was measured
  // What makes it doubtful. What is not known, by squares of shares: many unlike kernels err against each
  // other. And by how much predictions of kernels nearby were off, as a logarithm, mean over its seconds.
  double unknown = 0, error = 0;
  StepKind kind = StepKind::convolutional;
};

// How wide 90 % intervals are: a half for each kind of step, wider for a step that is more doubtful than
// others. Short steps are, too.
struct StepIntervals {
  // (what / typical)^exponent, of seconds, unknown and error.
  struct Doubt {
    double exponent = 0, typical = 1;
  };
  static constexpr std::size_t kDoubts = 3;
  static constexpr std::array<const char*, kDoubts> kDoubtNames{"seconds", "unknown", "error"};

  std::array<double, kStepKinds> halves{};  // as a logarithm, of a typical step; 0: not calibrated
  std::array<Doubt, kDoubts> doubts{};

  double doubt(const StepEstimate& step) const;  // 1: of a typical step
  double half(const StepEstimate& step) const;
};

// A step that was predicted as if its network had never been seen, and its error as a logarithm.
struct JudgedStep {
  StepEstimate step;
  double error = 0;
};
// REQUIRES: at least one.
StepIntervals calibrate(const std::vector<JudgedStep>& judged);

}  // namespace trainyard::predict
