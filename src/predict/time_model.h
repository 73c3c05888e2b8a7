#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predict/fit_constants.h"
#include "predict/memory_need.h"
#include "predict/residual.h"
#include "predict/use_model.h"

namespace trainyard::predict {

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
