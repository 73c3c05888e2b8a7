#include "predict/analytic/time_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "stats/least_squares.h"

namespace trainyard::predict {

namespace {

// An error beyond this, in logarithms, counts linearly and no longer by its square.
constexpr double kToleratedError = 0.1;
constexpr double kUsualError = 0.05;
constexpr double kFarthest = 5;  // deviations of a constant from the prior

// Parameters holds logarithms of constants, as deviations from the prior.
class Parameters {
 public:
  explicit Parameters(const ConstantsPrior& prior) : prior_(prior) {}

  std::size_t count() const {
    return (prior_.fixed_shared ? std::size_t{0} : std::size_t{kSharedConstants}) +
           prior_.own.size() * kDeviceConstants;
  }
  FittedConstants at(const std::vector<double>& deviations) const {
    FittedConstants constants{prior_.shared, prior_.own};
    std::size_t next = 0;
    const auto moved = [&](double first, const ConstantRow& row) {
      return first * std::exp(std::clamp(deviations[next++], -kFarthest, kFarthest) * row.deviation);
    };
    if (!prior_.fixed_shared)
      for (std::size_t i = 0; i < kSharedConstants; ++i)
        constants.shared[i] = moved(prior_.shared[i], kSharedRows[i]);
    for (std::size_t d = 0; d < prior_.own.size(); ++d)
      for (std::size_t i = 0; i < kDeviceConstants; ++i)
        constants.own[d][i] = moved(prior_.own[d][i], kDeviceRows[i]);
    return constants;
  }

 private:
  const ConstantsPrior& prior_;
};

}  // namespace

FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<DeviceSheet>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior) {
  const Parameters parameters(prior);
  // Runs of one work on one device share its parts.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t r = 0; r < runs.size(); ++r) groups[{runs[r].work, runs[r].device}].push_back(r);
  const double pull = kUsualError * std::sqrt(kPriorRuns);
  const auto residuals_of = [&](const std::vector<double>& deviations, std::vector<double>& residuals) {
    const FittedConstants constants = parameters.at(deviations);
    residuals.resize(runs.size() + deviations.size());
    for (const auto& [key, members] : groups) {
      const DeviceConstants& own = constants.own[key.second];
      const StepParts parts = step_parts(works[key.first], devices[key.second], constants.shared, own);
      for (const std::size_t r : members)
        residuals[r] = std::log(run_seconds(parts, own, runs[r].steps, runs[r].with_start) / runs[r].seconds);
    }
    for (std::size_t p = 0; p < deviations.size(); ++p) residuals[runs.size() + p] = pull * deviations[p];
  };
  constexpr int kRounds = 30;
  const stats::RobustFit fit = stats::fit_robustly(std::vector<double>(parameters.count(), 0.0),
                                                   kToleratedError, residuals_of, kRounds);
  return parameters.at(fit.parameters);
}

namespace {

constexpr double kHostWidening = 2;

// Returns geometric means over the devices that were seen.
DeviceConstants average_host(const std::vector<DeviceModel>& devices) {
  DeviceConstants mean = first_of_device();
  double seen = 0;
  DeviceConstants logarithms{};
  for (const DeviceModel& one : devices) {
    if (one.runs == 0) continue;
    seen += 1;
    for (std::size_t i = 0; i < kDeviceConstants; ++i) logarithms[i] += std::log(one.constants[i]);
  }
  if (seen > 0)
    for (std::size_t i = 0; i < kDeviceConstants; ++i) mean[i] = std::exp(logarithms[i] / seen);
  return mean;
}

}  // namespace

DeviceModel TimeModel::find(std::string_view name, const std::vector<DeviceSheet>& others) const {
  for (const DeviceModel& one : devices)
    if (same_device_name(one.device.name, name)) return one;
  for (const DeviceSheet& device : others)
    if (same_device_name(device.name, name)) return {device, average_host(devices), 0};
  std::string names;
  for (const DeviceModel& one : devices) names += (names.empty() ? "" : ", ") + one.device.name;
  for (const DeviceSheet& device : others) {
    bool seen = false;
    for (const DeviceModel& one : devices) seen = seen || same_device_name(one.device.name, device.name);
    if (!seen) names += ", " + device.name;
  }
  fail(ErrorKind::config, "unknown device '{}'; known are {}", name, names);
}

std::vector<DeviceSheet> TimeModel::seen_devices() const {
  std::vector<DeviceSheet> seen;
  for (const DeviceModel& one : devices) seen.push_back(one.device);
  return seen;
}

double host_widening(const StepParts& parts) {
  return 1 + kHostWidening * parts.host / (parts.host + parts.device());
}

double interval_of(const Calibration& calibration, double known, const StepParts& parts) {
  return host_widening(parts) * std::sqrt(known * calibration.known * calibration.known +
                                          (1 - known) * calibration.fresh * calibration.fresh);
}

Prediction predict(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
                   bool with_start) {
  Prediction result;
  result.device_seen = on.runs > 0;
  result.parts = step_parts(work, on.device, model.shared, on.constants);
  const Place place = place_of(work, result.parts, on.device);
  const Residual::Estimate missed = model.residual.at(place);
  const double factor = std::exp(missed.mean);
  result.known = missed.known;
  result.step_seconds = factor * result.parts.step;
  result.start_seconds = factor * result.parts.start;
  result.seconds = factor * run_seconds(result.parts, on.constants, steps, with_start);
  const double half = interval_of(model.calibration, missed.known, result.parts);
  result.low_seconds = result.seconds * std::exp(-half);
  result.high_seconds = result.seconds * std::exp(half);
  result.memory = memory_need(work);
  result.oom_probability = model.memory.oom_probability(result.memory.total(), on.device);
  result.use = model.use.at(use_place(place, result.seconds), on.device.name);
  result.usual_use = model.use.usual(on.device.name);
  return result;
}

}  // namespace trainyard::predict
