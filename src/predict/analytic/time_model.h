#pragma once

#include "predict/analytic/residual.h"
#include "predict/analytic/step_time.h"
#include "predict/analytic/uncertainty.h"
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
// deviation away from the prior weighs as much as `kPriorRuns` runs that are wrong by `kUsualError`.
FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<DeviceSheet>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior);

struct DeviceModel {
  DeviceSheet device;
  DeviceConstants constants;
  double runs = 0;  // that were seen of it; 0: its constants are those of other hosts
  ConstantsCovariance covariance = {};
};

// Calibration says how wide 90 % intervals are: half of that of a run similar to seen ones, as a logarithm
// and before the host's share widens it; and how often the deviation that the constants leave open goes into
// the half for a network that was never seen, and for one that is unlike all that were.
struct Calibration {
  double known = 0, fresh = 0, unlike = 0;  // all 0: not calibrated

  bool is_there() const { return known > 0 || fresh > 0 || unlike > 0; }
};

// A run that is known less than this is unlike all that were seen.
inline constexpr double kUnlike = 0.05;

// Doubt is what makes the interval of a run wide.
struct Doubt {
  double known = 0;     // how near runs are that were seen, 0 to 1
  double widening = 1;  // by the host, which also does other work, where it is the limit
  double open = 0;      // variance of the logarithm of seconds that the constants leave open
  double between = 0;   // the same between this device and those that were seen

  bool is_unlike() const { return known < kUnlike; }
};

// TimeModel predicts time, memory and resource use of training runs from first principles, fitted constants
// and a residual. The device is an input.
struct TimeModel {
  SharedConstants shared = first_shared();
  std::vector<DeviceModel> devices;
  ConstantsCovariance shared_covariance;  // of the shared constants, for devices that were never seen
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
  double known = 0;             // how near runs are that were seen, 0 to 1
  bool unlike_learned = false;  // no run that was learned from spends its time as this one does
  StepParts parts;
  MemoryNeed memory;
  double oom_probability = 0;
  bool device_seen = false;            // runs of it were learned from
  std::vector<ResourceUse> use;        // shares of time; empty where the model has seen none
  std::vector<ResourceUse> usual_use;  // the means over the device's runs
  std::vector<std::string> remarks;    // on a graph that is no network of ours, for people
};

// A campaign is what one group measured on its machines. Runs of another one had other hosts, and other cards
// of the same kinds.
enum class Campaign : std::uint8_t { same, other };

// `steps` includes those of a warm-up.
Prediction predict(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
                   bool with_start = true, Campaign campaign = Campaign::other);

inline constexpr double kCoverage = 0.9;
// A run is predicted to be out of memory from this probability on.
inline constexpr double kLikelyOom = 0.5;
// Returns half of the interval, as a logarithm.
double half_interval(const Calibration& calibration, const Doubt& doubt);
Doubt doubt_of(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
               bool with_start, Campaign campaign);

inline constexpr const char* kTimeModelSchema = "trainyard-time-model";
inline constexpr int kTimeModelVersion = 4;

// docs/formats/prediction-model.md describes the format. Numbers survive the round trip exactly.
ModelContainer to_container(const TimeModel& model);
// Throws Error (config) naming a member that is missing or out of bounds, or another kind or version.
TimeModel parse_time_model(const ModelContainer& container, const std::string& who);

void write_time_model(const TimeModel& model, const std::filesystem::path& path);
TimeModel read_time_model(const std::filesystem::path& path);

}  // namespace trainyard::predict
