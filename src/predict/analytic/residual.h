#pragma once

#include "predict/analytic/step_time.h"
#include "stats/gaussian_process.h"

namespace trainyard::predict {

// A place locates a run among others: how its step spends its time, how large it is, and the device. Two
// places at distance one have little in common.
inline constexpr std::size_t kPlaceDimensions = 12;
using Place = std::array<double, kPlaceDimensions>;
Place place_of(const NetworkWork& work, const StepParts& parts, const DeviceSheet& device);

// Residual models the error of the analytic model, as a logarithm, by a Gaussian process over places. Far
// from all runs it is 0.
class Residual {
 public:
  struct Sample {
    Place place;
    double error = 0;  // mean of log(measured / predicted) of the runs there
    double runs = 1;
  };
  struct Estimate {
    double mean = 0;
    double known = 0;  // 0: far from all samples, 1: on top of many
  };

  Residual() = default;
  explicit Residual(std::vector<Sample> samples);

  Estimate at(const Place& place) const;
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;
  stats::CovarianceFactor factor_;
  std::vector<double> weights_;  // covariance^-1 errors
};

}  // namespace trainyard::predict
