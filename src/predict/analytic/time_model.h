#pragma once

#include "predict/analytic/residual.h"
#include "predict/analytic/step_time.h"
#include "predict/analytic/use_model.h"
#include "predict/runs/model_container.h"
#include "stats/gaussian_process.h"

namespace trainyard::predict {

// Observation is a run that ended well: its work, device, number of steps and seconds.
struct Observation {
  std::size_t work = 0, device = 0;
  double steps = 0, seconds = 0;
  bool with_start = true;
};

struct FittedConstants {
  SharedConstants shared;
  std::vector<DeviceConstants> own;  // of each device
};

// ConstantsPrior is the start of the fit, and the values towards which the fit is pulled.
struct ConstantsPrior {
  SharedConstants shared = first_shared();
  std::vector<DeviceConstants> own;  // of each device
  bool fixed_shared = false;         // only the devices' are fitted
};

// The fit is a robust least squares of the logarithms of seconds. A constant whose logarithm lies its
// deviation away from the prior weighs as much as `kPriorRuns` runs that are wrong by 5 %.
inline constexpr double kPriorRuns = 60;
FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<DeviceSheet>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior);

struct DeviceModel {
  DeviceSheet device;
  DeviceConstants constants;
  double runs = 0;  // that were seen of it; 0: its constants are those of other hosts
};

// Calibration holds half of a 90 % interval, as a logarithm, for a run similar to seen ones and for a run of
// a network that was never seen. Both are before the host's share widens them.
struct Calibration {
  double known = 0, fresh = 0;  // 0: not calibrated
};

// TimeModel predicts time, memory and resource use of training runs from first principles, fitted constants
// and a residual. The device is an input.
struct TimeModel {
  SharedConstants shared = first_shared();
  std::vector<DeviceModel> devices;
  Residual residual;
  Calibration calibration;
  MemoryModel memory;
  UseModel use;
  std::vector<std::string> networks;  // seen, by their names in the zoo
  double runs = 0;

  std::vector<DeviceSheet> seen_devices() const;
  // Returns the constants of a device that was seen, or those of an average host for another one. Throws
  // Error (config) where neither this model nor `others` has the device.
  DeviceModel find(std::string_view name, const std::vector<DeviceSheet>& others) const;
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
  std::vector<std::string> remarks;    // on a graph that is no network of ours, for people
};

// `steps` includes those of a warm-up.
Prediction predict(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
                   bool with_start = true);

inline constexpr double kCoverage = 0.9;
// A run is predicted to be out of memory from this probability on.
inline constexpr double kLikelyOom = 0.5;
// Returns half of the interval, as a logarithm.
double interval_of(const Calibration& calibration, double known, const StepParts& parts);
// Returns the factor by which the interval widens where the host, which also does other work, is the limit.
double host_widening(const StepParts& parts);

inline constexpr const char* kTimeModelSchema = "trainyard-time-model";
inline constexpr int kTimeModelVersion = 3;

// docs/formats/prediction-model.md describes the format. Numbers survive the round trip exactly.
ModelContainer to_container(const TimeModel& model);
// Throws Error (config) naming a member that is missing or out of bounds, or another kind or version.
TimeModel parse_time_model(const ModelContainer& container, const std::string& who);

void write_time_model(const TimeModel& model, const std::filesystem::path& path);
TimeModel read_time_model(const std::filesystem::path& path);

}  // namespace trainyard::predict
