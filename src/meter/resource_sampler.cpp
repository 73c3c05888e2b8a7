#include "meter/resource_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/cores.h"
#include "meter/cgroup.h"
#include "meter/network.h"
#include "meter/system_files.h"

namespace trainyard::meter {
namespace {

using Kind = record::TraceColumn::Kind;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// In the order in which a row puts them.
enum TreeColumn : std::size_t { kCpu, kSystem, kResident, kProportional, kProcesses, kRead, kWritten };
enum NetworkColumn : std::size_t { kSent = kWritten + 1, kReceived, kLoopback };
enum GpuColumn : std::size_t {
  kBusy,
  kMemoryBusy,
  kMemoryUsed,
  kProcessMemory,
  kPower,
  kSmClock,
  kMemoryClock,
  kEnergy
};

double to_micro(double value) { return std::round(value * 1e6) / 1e6; }

template <typename Number>
double or_unknown(const std::optional<Number>& value) {
  return value ? static_cast<double>(*value) : kUnknown;
}

template <typename Number>
std::optional<double> to_double(const std::optional<Number>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

double cores_there_are() {
  const auto allowed = static_cast<double>(process_cores().size());
  return std::min(allowed, read_cgroup_limits(SystemFiles()).cores.value_or(allowed));
}

std::optional<double> memory_there_is() {
  const SystemFiles files;
  const auto kibibytes = keyed_integer(files.text("/proc/meminfo").value_or(""), "MemTotal");
  const auto limit = read_cgroup_limits(files).memory_bytes;
  if (!kibibytes) return to_double(limit);
  return static_cast<double>(std::min(*kibibytes * 1024, limit.value_or(*kibibytes * 1024)));
}

}  // namespace

ResourceSampler::ResourceSampler(TreeMeter& tree, const Nvml* nvml) : tree_(tree), nvml_(nvml) {
  const double cores = cores_there_are();
  const std::optional<double> memory = memory_there_is();
  add_column("cpu_seconds", Kind::counter, cores);
  add_column("system_seconds", Kind::counter, cores);
  add_column("resident_bytes", Kind::gauge, memory);
  add_column("proportional_bytes", Kind::gauge, memory);
  add_column("processes", Kind::gauge);
  add_column("disk_read_bytes", Kind::counter);
  add_column("disk_written_bytes", Kind::counter);
  add_column("network_sent_bytes", Kind::counter);
  add_column("network_received_bytes", Kind::counter);
  add_column("loopback_bytes", Kind::counter);
  if (nvml_ != nullptr) add_gpus();
}

std::size_t ResourceSampler::add_column(std::string name, Kind kind, std::optional<double> capacity) {
  trace_.columns.push_back({std::move(name), kind, capacity, {}});
  return trace_.columns.size() - 1;
}

void ResourceSampler::add_gpus() {
  for (int device = 0; device < nvml_->device_count(); ++device) {
    const GpuDescription gpu = nvml_->describe(device);
    const std::optional<double> memory = to_double(gpu.memory_bytes);
    const auto name = [&](const char* what) { return fmt::format("gpu{}_{}", device, what); };
    Gpu added;
    added.device = device;
    added.first_column = add_column(name("busy_fraction"), Kind::gauge, 1.0);
    add_column(name("memory_busy_fraction"), Kind::gauge, 1.0);
    add_column(name("memory_used_bytes"), Kind::gauge, memory);
    add_column(name("process_memory_bytes"), Kind::gauge, memory);
    add_column(name("power_watts"), Kind::gauge, gpu.power_limit_watts);
    add_column(name("sm_mhz"), Kind::gauge, to_double(gpu.max_sm_mhz));
    add_column(name("memory_mhz"), Kind::gauge, to_double(gpu.max_memory_mhz));
    add_column(name("energy_joules"), Kind::counter);
    gpus_.push_back(added);
  }
}

// What changes seldom, or matters as a sum only.
void ResourceSampler::read_slow(Gpu& gpu) {
  const GpuSample sample = nvml_->sample(gpu.device);
  gpu.sm_mhz = to_double(sample.sm_mhz);
  gpu.memory_mhz = to_double(sample.memory_mhz);
  gpu.energy_joules = sample.energy_joules;
  if (!gpu.energy_before) gpu.energy_before = sample.energy_joules;
  const auto processes = nvml_->processes(gpu.device);
  if (!processes) return;
  const std::vector<pid_t> ours = tree_.processes();  // ascending
  gpu.process_bytes = 0;
  for (const GpuProcess& process : *processes)
    if (std::binary_search(ours.begin(), ours.end(), process.pid))
      *gpu.process_bytes += static_cast<double>(process.memory_bytes);
}

void ResourceSampler::put_gpus(double now, bool last) {
  if (last || gpu_load_.due(now))
    gpu_load_.run(now, [&] {
      for (Gpu& gpu : gpus_) gpu.load = nvml_->load(gpu.device);
    });
  if (last || gpu_slow_.due(now))
    gpu_slow_.run(now, [&] {
      for (Gpu& gpu : gpus_) read_slow(gpu);
    });
  for (const Gpu& gpu : gpus_) {
    const std::size_t first = gpu.first_column;
    put(first + kBusy, or_unknown(gpu.load.busy_fraction));
    put(first + kMemoryBusy, or_unknown(gpu.load.memory_busy_fraction));
    put(first + kMemoryUsed, or_unknown(gpu.load.memory_used_bytes));
    put(first + kProcessMemory, or_unknown(gpu.process_bytes));
    put(first + kPower, or_unknown(gpu.load.power_watts));
    put(first + kSmClock, or_unknown(gpu.sm_mhz));
    put(first + kMemoryClock, or_unknown(gpu.memory_mhz));
    put(first + kEnergy,
        gpu.energy_joules ? to_micro(*gpu.energy_joules - gpu.energy_before.value_or(0)) : kUnknown);
  }
}

void ResourceSampler::put_network() {
  std::array<char, 1 << 14> buffer;
  const std::string_view text = network_file_.read(buffer);
  const NetworkBytes now = parse_network(text);
  const auto since = [&](std::int64_t bytes, std::optional<std::int64_t>& before) {
    if (!before) before = bytes;
    return text.empty() ? kUnknown : static_cast<double>(bytes - *before);
  };
  put(kSent, since(now.sent, sent_before_));
  put(kReceived, since(now.received, received_before_));
  put(kLoopback, since(now.loopback, loopback_before_));
}

void ResourceSampler::sample(double seconds, bool last) {
  const double now = now_seconds();
  trace_.seconds.push_back(to_micro(seconds));
  const TreeUsage usage = tree_.sample(now);
  put(kCpu, to_micro(usage.cpu_seconds));
  put(kSystem, to_micro(usage.system_seconds));
  put(kResident, static_cast<double>(usage.resident_bytes));
  put(kProportional, or_unknown(usage.proportional_bytes));
  put(kProcesses, usage.processes);
  put(kRead, usage.disk ? static_cast<double>(usage.disk->read_bytes) : kUnknown);
  put(kWritten, usage.disk ? static_cast<double>(usage.disk->written_bytes) : kUnknown);
  put_network();
  if (!gpus_.empty()) put_gpus(now, last);
}

void ResourceSampler::forget_last() {
  if (trace_.seconds.size() < 2) return;
  trace_.seconds.pop_back();
  for (record::TraceColumn& column : trace_.columns) column.values.pop_back();
}

double ResourceSampler::latest(std::string_view column) const {
  const record::TraceColumn* const found = trace_.find(column);
  return found == nullptr || found->values.empty() ? kUnknown : found->values.back();
}

record::ResourceTrace ResourceSampler::take() {
  std::erase_if(trace_.columns, [](const record::TraceColumn& column) {
    return std::none_of(column.values.begin(), column.values.end(),
                        [](double v) { return std::isfinite(v); });
  });
  return std::move(trace_);
}

}  // namespace trainyard::meter
