#include "predict/time_model.h"

#include <cmath>

#include "base/error.h"

namespace trainyard::predict {

namespace {

constexpr double kHostWidening = 2;

// Geometric means over the devices that were seen.
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

DeviceModel TimeModel::find(std::string_view name, const std::vector<Device>& others) const {
  for (const DeviceModel& one : devices)
    if (same_device_name(one.device.name, name)) return one;
  for (const Device& device : others)
    if (same_device_name(device.name, name)) return {device, average_host(devices), 0};
  std::string names;
  for (const DeviceModel& one : devices) names += (names.empty() ? "" : ", ") + one.device.name;
  for (const Device& device : others) {
    bool seen = false;
    for (const DeviceModel& one : devices) seen = seen || same_device_name(one.device.name, device.name);
    if (!seen) names += ", " + device.name;
  }
  fail(ErrorKind::config, "unknown device '{}'; known are {}", name, names);
}

std::vector<Device> TimeModel::seen_devices() const {
  std::vector<Device> seen;
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
