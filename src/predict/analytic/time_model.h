#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "predict/analytic/memory_need.h"
#include "predict/analytic/step_time.h"
#include "predict/analytic/use_model.h"
#include "stats/gaussian_process.h"

namespace trainyard::predict {

// A run that ended well: which work, on which device, how many steps, in how many seconds.
struct Observation {
  std::size_t work = 0, device = 0;
  double steps = 0, seconds = 0;
  bool with_start = true;
};

struct FittedConstants {
  SharedConstants shared;
  std::vector<DeviceConstants> own;  // of each device
};

// What the fit begins with and is pulled to.
struct ConstantsPrior {
  SharedConstants shared = first_shared();
  std::vector<DeviceConstants> own;  // of each device
  bool fixed_shared = false;         // only the devices' are fitted
};

// Least squares of the logarithms of seconds, robust, where the logarithm of a constant that lies its
// deviation away from the prior weighs as much as `kPriorRuns` runs that are wrong by 5 %.
inline constexpr double kPriorRuns = 60;
FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<Device>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior);

// Where a run stands among others: what its step spends its time on, how large it is, and the device. Two
// that are one apart have little in common.
inline constexpr std::size_t kPlaceDimensions = 12;
using Place = std::array<double, kPlaceDimensions>;
Place place_of(const NetworkWork& work, const StepParts& parts, const Device& device);

// What the analytic model misses, as a logarithm: a Gaussian process over places. Far from all runs it is 0.
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

struct DeviceModel {
  Device device;
  DeviceConstants constants;
  double runs = 0;  // that were seen of it; 0: its constants are those of other hosts
};

// Half of an interval that holds 90 %, as a logarithm, of a run whose like was seen and of one of a network
// that never was; both before the host's share widens it.
struct Calibration {
  double known = 0, fresh = 0;  // 0: not calibrated
};

// Time, memory and use of resources of training runs: first principles, constants that were fitted, and what
// they miss. The device is an input.
struct TimeModel {
  SharedConstants shared = first_shared();
  std::vector<DeviceModel> devices;
  Residual residual;
  Calibration calibration;
  MemoryModel memory;
  UseModel use;
  std::vector<std::string> networks;  // seen, by their names in the zoo
  double runs = 0;

  std::vector<Device> seen_devices() const;
  // Constants of a device that was seen, or for another one those of an average host. Error (config) where
  // neither this model nor `others` has it.
  DeviceModel find(std::string_view name, const std::vector<Device>& others) const;
};

struct Prediction {
  double seconds = 0, low_seconds = 0, high_seconds = 0;  // of the run; the interval holds 90 %
  double step_seconds = 0, start_seconds = 0;
  double known = 0;  // how near runs are that were seen, 0 to 1
  StepParts parts;
  MemoryNeed memory;
  double oom_probability = 0;
  bool device_seen = false;            // runs of it were learned from
  std::vector<ResourceUse> use;        // shares of time; empty where the model has seen none
  std::vector<ResourceUse> usual_use;  // the means over the device's runs
};

// `steps` with those of a warm-up.
Prediction predict(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
                   bool with_start = true);

inline constexpr double kCoverage = 0.9;
// A run is predicted to be out of memory from this probability on.
inline constexpr double kLikelyOom = 0.5;
// Half of the interval, as a logarithm.
double interval_of(const Calibration& calibration, double known, const StepParts& parts);
// How much wider it is where the host, which does other things too, decides.
double host_widening(const StepParts& parts);

}  // namespace trainyard::predict
