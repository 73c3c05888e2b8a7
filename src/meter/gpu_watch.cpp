#include "meter/gpu_watch.h"

namespace trainyard::meter {

GpuWatch::GpuWatch(const std::string& pci_address) {
  if (pci_address.empty()) return;
  nvml_ = Nvml::open();
  if (nvml_ != nullptr) device_ = nvml_->find(pci_address);
}

GpuSample GpuWatch::sample() const { return device_ ? nvml_->sample(*device_) : GpuSample{}; }

void add_gpu_figures(const GpuUse& use, record::RunRecord& run) {
  const auto add = [&](const std::string& name, const auto& value, double unit) {
    if (value) run.figures[name] = static_cast<double>(*value) * unit;
  };
  const auto add_sample = [&](const GpuSample& sample, const std::string& when) {
    add("gpu_power_watts_" + when, sample.power_watts, 1);
    add("gpu_clock_hertz_" + when, sample.sm_mhz, 1e6);
    add("gpu_temperature_celsius_" + when, sample.temperature_celsius, 1);
    add("gpu_memory_used_bytes_" + when, sample.memory_used_bytes, 1);
  };
  add_sample(use.before, "before");
  add_sample(use.after, "after");
}

}  // namespace trainyard::meter
