#include "predict/analytic/uncertainty.h"

#include "stats/gaussian_process.h"

namespace trainyard::predict {

namespace {

constexpr double kSmallMove = 0.02;  // deviations
// Cards of one kind differ in cooling and clocks by this share of what kinds differ by from their data
// sheets.
constexpr double kShareBetweenCards = 1.0 / 3;

}  // namespace

Sensitivity sensitivity_of(const NetworkWork& work, const DeviceSheet& device, const SharedConstants& shared,
                           const DeviceConstants& own, double steps, bool with_start) {
  const auto log_seconds = [&](const SharedConstants& common, const DeviceConstants& local) {
    return std::log(run_seconds(step_parts(work, device, common, local), local, steps, with_start));
  };
  const double here = log_seconds(shared, own);
  Sensitivity sensitivity{};
  for (std::size_t i = 0; i < kSharedConstants; ++i) {
    SharedConstants moved = shared;
    moved[i] *= std::exp(kSmallMove * kSharedRows[i].deviation);
    sensitivity[i] = (log_seconds(moved, own) - here) / kSmallMove;
  }
  for (std::size_t i = 0; i < kDeviceConstants; ++i) {
    DeviceConstants moved = own;
    moved[i] *= std::exp(kSmallMove * kDeviceRows[i].deviation);
    sensitivity[kSharedConstants + i] = (log_seconds(shared, moved) - here) / kSmallMove;
  }
  return sensitivity;
}

double open_variance(const ConstantsCovariance& covariance, const Sensitivity& sensitivity) {
  double variance = 0;
  for (std::size_t i = 0; i < covariance.size(); ++i)
    variance += covariance[i] * sensitivity[i / kConstants] * sensitivity[i % kConstants];
  return std::max(variance, 0.0);
}

namespace {

// Precision is the inverse of a covariance, of the shared constants and then of those of each device.
class Precision {
 public:
  explicit Precision(std::size_t devices)
      : size_(kSharedConstants + devices * kDeviceConstants), entries_(size_ * size_) {
    for (std::size_t i = 0; i < size_; ++i) entries_[i * size_ + i] = 1;  // what is known without data
  }

  // The constants before `first` were not fitted.
  void add(const SettledRun& run, double weight, std::size_t first) {
    for (std::size_t i = first; i < kConstants; ++i)
      for (std::size_t j = first; j <= i; ++j)
        entries_[place(i, run.device) * size_ + place(j, run.device)] +=
            weight * run.sensitivity[i] * run.sensitivity[j];
  }

  // Returns the covariance of some constants of a device, from `first` to before `end`; others are 0.
  ConstantsCovariance covariance(std::size_t device, std::size_t first, std::size_t end) {
    if (!factor_)
      factor_.emplace(size_, [this](std::size_t i, std::size_t j) { return entries_[i * size_ + j]; });
    ConstantsCovariance covariance(kConstants * kConstants);
    for (std::size_t i = first; i < end; ++i) {
      std::vector<double> column(size_);
      column[place(i, device)] = 1;
      factor_->solve(column);
      for (std::size_t j = first; j < end; ++j) covariance[i * kConstants + j] = column[place(j, device)];
    }
    return covariance;
  }

 private:
  static std::size_t place(std::size_t constant, std::size_t device) {
    return constant < kSharedConstants ? constant : constant + device * kDeviceConstants;
  }

  std::size_t size_;
  std::vector<double> entries_;  // the lower triangle counts
  std::optional<stats::CovarianceFactor> factor_;
};

}  // namespace

ConstantsCovariances covariances_of(const std::vector<SettledRun>& runs, std::size_t devices,
                                    const ConstantsCovariance* base) {
  const std::size_t first = base == nullptr ? std::size_t{0} : std::size_t{kSharedConstants};
  Precision precision(devices);
  for (const SettledRun& run : runs) precision.add(run, kRunWeight, first);
  ConstantsCovariances all;
  all.shared = base != nullptr ? *base : precision.covariance(0, 0, kSharedConstants);
  for (std::size_t d = 0; d < devices; ++d) {
    all.devices.push_back(precision.covariance(d, first, kConstants));
    if (base == nullptr || base->empty()) continue;
    for (std::size_t i = 0; i < base->size(); ++i) all.devices.back()[i] += (*base)[i];
  }
  return all;
}

double device_variance(const Sensitivity& sensitivity, bool seen) {
  double variance = 0;
  for (std::size_t i = 0; i < kDeviceConstants; ++i) {
    const bool of_card = i == kCompute || i == kBandwidth;
    const double share = seen && of_card ? kShareBetweenCards : 1;
    variance += share * share * sensitivity[kSharedConstants + i] * sensitivity[kSharedConstants + i];
  }
  return variance;
}

}  // namespace trainyard::predict
