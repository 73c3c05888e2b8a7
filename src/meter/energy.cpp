#include "meter/energy.h"

namespace trainyard::meter {
namespace {

constexpr int kMostPackages = 64;

std::optional<double> micro(const SystemFiles& files, const std::string& path) {
  const auto value = files.integer(path);
  return value ? std::optional(static_cast<double>(*value) * 1e-6) : std::nullopt;
}

std::optional<double> gpu_joules(const Nvml* nvml) {
  if (nvml == nullptr) return std::nullopt;
  std::optional<double> sum;
  for (int device = 0; device < nvml->device_count(); ++device)
    if (const auto joules = nvml->sample(device).energy_joules) sum = sum.value_or(0) + *joules;
  return sum;
}

}  // namespace

EnergyMeter::EnergyMeter(const SystemFiles& files) : files_(files), nvml_(Nvml::open()) {
  for (int i = 0; i < kMostPackages; ++i) {
    const std::string folder = fmt::format("/sys/class/powercap/intel-rapl:{}", i);
    if (!files.exists(folder)) break;
    const auto now = micro(files, folder + "/energy_uj"),
               range = micro(files, folder + "/max_energy_range_uj");
    if (now) packages_.push_back({folder, *now, range.value_or(0)});
  }
  gpu_before_ = gpu_joules(nvml_.get());
}

EnergyMeter::~EnergyMeter() = default;

std::optional<double> EnergyMeter::gpu_busy_fraction() const {
  double sum = 0;
  int gpus = 0;
  for (int device = 0; nvml_ != nullptr && device < nvml_->device_count(); ++device)
    if (const auto busy = nvml_->sample(device).busy_fraction) {
      sum += *busy;
      ++gpus;
    }
  return gpus == 0 ? std::nullopt : std::optional(sum / gpus);
}

Energy EnergyMeter::read() {
  Energy energy;
  for (Package& package : packages_) {
    const auto now = micro(files_, package.folder + "/energy_uj");
    if (!now) continue;
    double used = *now - package.last;
    if (used < 0) used += package.range;
    package.last = *now;
    package.joules += used;
    energy.processor_joules = energy.processor_joules.value_or(0) + package.joules;
  }
  if (const auto now = gpu_joules(nvml_.get()); now && gpu_before_) energy.gpu_joules = *now - *gpu_before_;
  return energy;
}

}  // namespace trainyard::meter
