#include "predict/kernels/step_intervals.h"

#include "predict/analytic/fit_model.h"
#include "stats/gaussian_process.h"
#include "stats/statistics.h"

namespace trainyard::predict {
namespace {

constexpr std::size_t kDoubts = StepIntervals::kDoubts;
constexpr double kMost = 3;  // half of an interval: a factor of 20 either way says that nothing is known
using Features = std::array<double, kDoubts>;

// Returns seconds, unknown and error. A feature that may be 0 gets the least difference that matters added.
Features features_of(const StepEstimate& step) {
  return {step.seconds, step.unknown + 1e-3, step.error + 1e-2};
}

// Fits slopes of the logarithms of errors over those of the features, by least squares.
std::array<double, kDoubts> slopes(const std::vector<JudgedStep>& judged) {
  constexpr double kLeastError = 0.01, kRidge = 1e-6;
  constexpr std::size_t kTerms = kDoubts + 1;
  double products[kTerms][kTerms] = {};
  std::vector<double> right(kTerms, 0.0);
  for (const JudgedStep& one : judged) {
    const Features features = features_of(one.step);
    std::array<double, kTerms> row{1};
    for (std::size_t d = 0; d < kDoubts; ++d) row[d + 1] = std::log(features[d]);
    for (std::size_t i = 0; i < kTerms; ++i) {
      right[i] += row[i] * std::log(one.error + kLeastError);
      for (std::size_t j = 0; j < kTerms; ++j) products[i][j] += row[i] * row[j];
    }
  }
  stats::CovarianceFactor(kTerms, [&](std::size_t i, std::size_t j) {
    return products[i][j] + (i == j ? kRidge : 0);
  }).solve(right);
  return {right[1], right[2], right[3]};
}

}  // namespace

const char* name(StepKind kind) {
  constexpr std::array<const char*, kStepKinds> kNames = {"convolutional", "dense", "recurrent"};
  return kNames[static_cast<std::size_t>(kind)];
}

double StepIntervals::doubt(const StepEstimate& step) const {
  const Features features = features_of(step);
  double doubt = 1;
  for (std::size_t d = 0; d < kDoubts; ++d)
    if (features[d] > 0) doubt *= std::pow(features[d] / doubts[d].typical, doubts[d].exponent);
  return doubt;
}

double StepIntervals::half(const StepEstimate& step) const {
  return std::min(halves[static_cast<std::size_t>(step.kind)] * doubt(step), kMost);
}

double StepIntervals::half_elsewhere(const StepEstimate& step, double doublings) const {
  constexpr double kAlike = 0.2, kOfDoubling = 0.1;  // deviations of devices, as logarithms
  const double seen = half(step);
  if (seen == 0) return 0;
  return std::min(std::hypot(seen, kNormalQuantile * (kAlike + kOfDoubling * doublings)), kMost);
}

StepIntervals calibrate(const std::vector<JudgedStep>& judged) {
  constexpr std::size_t kFew = 10, kFewForDoubts = 40;
  StepIntervals made;
  if (judged.size() >= kFewForDoubts) {
    const std::array<double, kDoubts> exponents = slopes(judged);
    for (std::size_t d = 0; d < kDoubts; ++d) {
      std::vector<double> values;
      for (const JudgedStep& one : judged) values.push_back(features_of(one.step)[d]);
      made.doubts[d] = {.exponent = exponents[d], .typical = stats::median(values)};
    }
  }
  std::vector<double> all;
  std::array<std::vector<double>, kStepKinds> by_kind;
  for (const JudgedStep& one : judged) {
    all.push_back(one.error / made.doubt(one.step));
    by_kind[static_cast<std::size_t>(one.step.kind)].push_back(all.back());
  }
  for (std::size_t kind = 0; kind < kStepKinds; ++kind)
    made.halves[kind] = conformal_quantile(by_kind[kind].size() < kFew ? all : by_kind[kind]);
  return made;
}

}  // namespace trainyard::predict
