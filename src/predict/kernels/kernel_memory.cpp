#include "predict/kernels/kernel_memory.h"

#include <algorithm>
#include <cmath>

#include "engine/executor.h"

namespace trainyard::predict {
namespace {

// Of the chance that so many steps are recorded as one: seconds of a step are known so well, as a logarithm.
constexpr double kStepDeviation = 0.1;

double chance_of_many(double step_seconds, double steps, bool certain) {
  constexpr auto kMany = static_cast<double>(engine::Executor::kStepsPerLaunch);
  if (steps < kMany) return 0;
  const double most = engine::Executor::kSecondsAtOnce / kMany;
  if (certain) return step_seconds <= most ? 1 : 0;
  return 0.5 * std::erfc(std::log(step_seconds / most) / kStepDeviation / std::sqrt(2.0));
}

}  // namespace

OverheadTerms overhead_terms(const PlannedStep& step, bool on_host, double step_seconds, double steps,
                             bool certain) {
  const double many =
      static_cast<double>(engine::Executor::kStepsPerLaunch) * chance_of_many(step_seconds, steps, certain);
  const double recorded = on_host ? 0 : 1 + many;
  return {1, step.convolution, step.ops, step.shapes, recorded * step.kernels};
}

KernelMemory::KernelMemory(std::vector<DeviceMemory> devices) : devices_(std::move(devices)) {
  for (const DeviceMemory& one : devices_)
    planners_.push_back({one.backend, one.threads, KernelHabits(one.habits)});
}

std::size_t KernelMemory::find(const std::string& device, backend::Precision precision) const {
  std::size_t found = devices_.size();
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].precision != precision) continue;
    if (same_device_name(devices_[d].device, device)) return d;
    found = std::min(found, d);
  }
  return found < devices_.size() ? found : 0;
}

MemoryNeed KernelMemory::need(const PlannedStep& step, std::size_t device, double step_seconds,
                              double steps) const {
  MemoryNeed need = step.need;
  const OverheadTerms terms = overhead_terms(step, planners_[device].on_host(), step_seconds, steps, false);
  for (std::size_t t = 0; t < kOverheadTerms; ++t) need.overhead += terms[t] * devices_[device].overhead[t];
  need.overhead = std::max(need.overhead, 0.0);
  return need;
}

}  // namespace trainyard::predict
