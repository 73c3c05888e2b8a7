#include "predict/analytic/residual.h"

namespace trainyard::predict {

namespace {

// Standard deviations, in logarithms: of the analytic model's error for a network, of a single run beside
// similar ones, and of a repetition.
constexpr double kMissed = 0.07;
constexpr double kScatter = 0.015;
constexpr double kRepetition = 0.03;
// Two places at these distances have little in common.
constexpr double kShareScale = 0.12;
constexpr double kBatchScale = 2.0;  // doublings
constexpr double kSizeScale = 1.2;   // of logarithms of launches and parameters
constexpr double kSlotScale = 3.0;
constexpr double kDeviceScale = 1.0;  // of logarithms of rates

double covariance(const Place& a, const Place& b) { return kMissed * kMissed * stats::similarity(a, b); }

}  // namespace

Place place_of(const NetworkWork& work, const StepParts& parts, const DeviceSheet& device) {
  const double device_seconds = parts.device();
  const auto share = [&](double seconds) { return seconds / device_seconds / kShareScale; };
  return {share(parts.window_products),
          share(parts.other_products),
          share(parts.product_traffic),
          share(parts.norm),
          share(parts.other_traffic),
          share(parts.update),
          parts.host / (parts.host + device_seconds) / kShareScale,
          std::log2(static_cast<double>(work.batch)) / kBatchScale,
          std::log(work.launches()) / kSizeScale,
          work.state_slots / kSlotScale,
          std::log(device.flops_per_second / device.bytes_per_second) / kDeviceScale * 4,
          std::log(device.multiprocessors) / kDeviceScale};
}

Residual::Residual(std::vector<Sample> samples) : samples_(std::move(samples)) {
  factor_ = stats::CovarianceFactor(samples_.size(), [this](std::size_t i, std::size_t j) {
    if (i != j) return covariance(samples_[i].place, samples_[j].place);
    return kMissed * kMissed + kScatter * kScatter + kRepetition * kRepetition / samples_[i].runs;
  });
  for (const Sample& sample : samples_) weights_.push_back(sample.error);
  factor_.solve(weights_);
}

Residual::Estimate Residual::at(const Place& place) const {
  Estimate estimate;
  std::vector<double> shared(samples_.size());
  for (std::size_t i = 0; i < shared.size(); ++i) {
    shared[i] = covariance(place, samples_[i].place);
    estimate.mean += shared[i] * weights_[i];
  }
  factor_.forward_substitute(shared);
  double explained = 0;
  for (const double value : shared) explained += value * value;
  estimate.known = std::clamp(explained / (kMissed * kMissed), 0.0, 1.0);
  return estimate;
}

}  // namespace trainyard::predict
