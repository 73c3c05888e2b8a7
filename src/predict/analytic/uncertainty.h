#pragma once

#include "predict/analytic/step_time.h"

namespace trainyard::predict {

// Half of an interval that holds 90 % of a normal distribution, in its deviations.
inline constexpr double kNormalHalf = 1.645;
// The same of a t distribution of three degrees of freedom: what devices differ by was itself judged by few.
inline constexpr double kDeviceHalf = 2.353;

// An error of a run that is usual; and what is known of a constant without data: its logarithm's deviation
// weighs as much as so many runs with that error.
inline constexpr double kUsualError = 0.05;
inline constexpr double kPriorRuns = 60;
// What a run says of constants, which are in deviations; runs of one network say much the same.
inline constexpr double kRunWeight = 1 / (kUsualError * kUsualError * kPriorRuns);

// The constants on which the time of a run depends: the shared ones, then those of its device. Each is
// counted in deviations of its logarithm (ConstantRow).
inline constexpr std::size_t kConstants = std::size_t{kSharedConstants} + std::size_t{kDeviceConstants};

// Sensitivity tells by how much the logarithm of a run's seconds grows with each constant.
using Sensitivity = std::array<double, kConstants>;
Sensitivity sensitivity_of(const NetworkWork& work, const DeviceSheet& device, const SharedConstants& shared,
                           const DeviceConstants& own, double steps, bool with_start);

// ConstantsCovariance says how well runs settled the constants: kConstants rows of as many. Empty: not known.
using ConstantsCovariance = std::vector<double>;

// Returns the variance of the logarithm of a run's seconds that the constants leave open; 0 where the
// covariance is empty.
double open_variance(const ConstantsCovariance& covariance, const Sensitivity& sensitivity);

// SettledRun is a run that constants were fitted to: how it depends on them, and which device it had.
struct SettledRun {
  Sensitivity sensitivity;
  std::size_t device = 0;
};

// ConstantsCovariances holds the covariance for each device with runs, and that of the shared constants
// alone.
struct ConstantsCovariances {
  ConstantsCovariance shared;
  std::vector<ConstantsCovariance> devices;
};

// Returns how well runs on so many devices settle the constants, beside what is known without data; a run
// weighs as in fit_constants. `base` is the covariance of shared constants that were not fitted; null: they
// were.
ConstantsCovariances covariances_of(const std::vector<SettledRun>& runs, std::size_t devices,
                                    const ConstantsCovariance* base = nullptr);

// Returns the variance between devices that runs do not tell apart: where nothing was seen of the device, of
// all its constants; else of what another host and another card of the same kind differ by.
double device_variance(const Sensitivity& sensitivity, bool seen);

}  // namespace trainyard::predict
