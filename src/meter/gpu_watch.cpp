#include "meter/gpu_watch.h"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/threads.h"

namespace trainyard::meter {

GpuWatch::GpuWatch(const std::string& pci_address) {
  if (pci_address.empty()) return;
  nvml_ = Nvml::open();
  if (nvml_ != nullptr) device_ = nvml_->find(pci_address);
}

GpuSample GpuWatch::sample() const { return device_ ? nvml_->sample(*device_) : GpuSample{}; }

std::vector<int> visible_gpus(const std::optional<std::string>& text, const std::vector<std::string>& uuids) {
  std::vector<int> gpus;
  if (!text) {
    for (std::size_t i = 0; i < uuids.size(); ++i) gpus.push_back(static_cast<int>(i));
    return gpus;
  }
  std::istringstream words(*text);
  for (std::string word; std::getline(words, word, ',');) {
    int number = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      const auto found = std::find_if(uuids.begin(), uuids.end(),
                                      [&](const std::string& uuid) { return uuid.starts_with(word); });
      number = word.empty() || found == uuids.end() ? -1 : static_cast<int>(found - uuids.begin());
    }
    if (number < 0 || number >= static_cast<int>(uuids.size())) break;
    gpus.push_back(number);
  }
  return gpus;
}

std::vector<int> visible_gpus(const Nvml& nvml) {
  std::vector<std::string> uuids;
  for (int gpu = 0; gpu < nvml.device_count(); ++gpu) uuids.push_back(nvml.describe(gpu).uuid);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible_gpus(visible == nullptr ? std::nullopt : std::optional<std::string>(visible), uuids);
}

GpuActivity::GpuActivity() : nvml_(Nvml::open()) {
  if (nvml_ == nullptr) return;
  for (const int gpu : visible_gpus(*nvml_)) gpus_.push_back({gpu, nvml_->describe(gpu).name});
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void GpuActivity::work(const std::stop_token& stop) {
  constexpr double kPauseSeconds = 0.2;
  while (!stop.stop_requested()) {
    sleep_unless_stopped(stop, kPauseSeconds);
    for (Gpu& gpu : gpus_) {
      const std::optional<double> busy = nvml_->load(gpu.number).busy_fraction;
      if (!busy) continue;
      ++gpu.looks;
      gpu.busiest_fraction = std::max(gpu.busiest_fraction, *busy);
    }
  }
}

std::vector<GpuActivity::Gpu> GpuActivity::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  return std::move(gpus_);
}

std::optional<record::Warning> check_given_gpus(int used) {
  const char* allotted = std::getenv("SLURM_JOB_GPUS");
  const char* list = allotted != nullptr ? allotted
                     : used > 0          ? std::getenv("CUDA_VISIBLE_DEVICES")
                                         : nullptr;
  const std::string_view names = list == nullptr ? "" : list;
  if (names.empty()) return std::nullopt;
  const auto given = 1 + std::count(names.begin(), names.end(), ',');
  if (given <= used) return std::nullopt;
  return record::Warning{"gpus", fmt::format("{} GPUs were given ({}), {} used", given, names,
                                             used == 0   ? "none is"
                                             : used == 1 ? "one is"
                                                         : fmt::format("{} are", used))};
}

void add_gpu_figures(const GpuUse& use, record::RunRecord& run) {
  const auto add = [&](const std::string& name, const auto& value, double unit) {
    if (value) run.figures.any()[name] = static_cast<double>(*value) * unit;
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
