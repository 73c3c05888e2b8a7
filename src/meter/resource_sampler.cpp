#include "meter/resource_sampler.h"

#include "base/clock.h"
#include "base/cores.h"
#include "meter/cgroup.h"

namespace trainyard::meter {
namespace {

using Kind = record::TraceColumn::Kind;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The enumerators are in the order of a row.
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

// Counts only those of its processes that are ours.
void ResourceSampler::read_process_bytes(Gpu& gpu) {
  const auto processes = nvml_->processes(gpu.device);
  if (!processes) return;
  const std::vector<pid_t> ours = tree_.processes();  // ascending
  gpu.process_bytes = 0;
  for (const GpuProcess& process : *processes)
    if (std::binary_search(ours.begin(), ours.end(), process.pid))
      *gpu.process_bytes += static_cast<double>(process.memory_bytes);
}

void ResourceSampler::read_gpus(double now, bool last) {
  const auto read = [&](Pace& pace, bool at_once, const auto& of_one) {
    if (!at_once && !pace.due(now)) return;
    pace.run(now, [&] {
      for (Gpu& gpu : gpus_) of_one(gpu);
    });
  };
  read(gpu_load_, false, [&](Gpu& gpu) { gpu.load = nvml_->load(gpu.device); });
  read(gpu_clocks_, false, [&](Gpu& gpu) { gpu.clocks = nvml_->clocks(gpu.device); });
  read(gpu_energy_, last, [&](Gpu& gpu) {
    gpu.energy_joules = nvml_->energy_joules(gpu.device);
    if (!gpu.energy_before) gpu.energy_before = gpu.energy_joules;
  });
  if (tree_.any()) read(gpu_processes_, false, [&](Gpu& gpu) { read_process_bytes(gpu); });
}

void ResourceSampler::put_gpus() {
  for (const Gpu& gpu : gpus_) {
    const std::size_t first = gpu.first_column;
    put(first + kBusy, or_unknown(gpu.load.busy_fraction));
    put(first + kMemoryBusy, or_unknown(gpu.load.memory_busy_fraction));
    put(first + kMemoryUsed, or_unknown(gpu.load.memory_used_bytes));
    put(first + kProcessMemory, or_unknown(gpu.process_bytes));
    put(first + kPower, or_unknown(gpu.load.power_watts));
    put(first + kSmClock, or_unknown(gpu.clocks.sm_mhz));
    put(first + kMemoryClock, or_unknown(gpu.clocks.memory_mhz));
    put(first + kEnergy,
        gpu.energy_joules ? to_micro(*gpu.energy_joules - gpu.energy_before.value_or(0)) : kUnknown);
  }
}

double ResourceSampler::driver_seconds() const {
  return gpu_load_.spent_seconds() + gpu_energy_.spent_seconds() + gpu_clocks_.spent_seconds() +
         gpu_processes_.spent_seconds();
}

// Rows since the last reading repeat its value. The new reading tells how far the counter advanced meanwhile.
void ResourceSampler::put_counter(std::size_t column, double value, std::size_t row_before) {
  put(column, value);
  std::vector<double>& values = trace_.columns[column].values;
  const std::size_t row = values.size() - 1;
  for (std::size_t i = row_before + 1; i < row; ++i) {
    const double passed =
        (trace_.seconds[i] - trace_.seconds[row_before]) / (trace_.seconds[row] - trace_.seconds[row_before]);
    values[i] = std::floor(values[row_before] + passed * (value - values[row_before]));
  }
}

void ResourceSampler::put_network(double now, bool last) {
  if (!last && !network_.due(now)) {
    for (const std::size_t column : {kSent, kReceived, kLoopback})
      put(column, trace_.columns[column].values.back());
    return;
  }
  network_.run(now, [&] {
    std::array<char, 1 << 14> buffer;
    const std::string_view text = network_file_.read(buffer);
    const NetworkBytes bytes = parse_network(text);
    if (!network_before_) network_before_ = bytes;
    const auto put_since = [&](std::size_t column, std::int64_t NetworkBytes::*which) {
      put_counter(column,
                  text.empty() ? kUnknown : static_cast<double>(bytes.*which - *network_before_.*which),
                  network_row_);
    };
    put_since(kSent, &NetworkBytes::sent);
    put_since(kReceived, &NetworkBytes::received);
    put_since(kLoopback, &NetworkBytes::loopback);
    network_row_ = trace_.seconds.size() - 1;
  });
}

void ResourceSampler::put_tree(double now, bool last) {
  const TreeUsage usage = tree_.sample(now);
  put(kCpu, to_micro(usage.cpu_seconds));
  put(kSystem, to_micro(usage.system_seconds));
  put(kResident, static_cast<double>(usage.resident_bytes));
  put(kProportional, or_unknown(usage.proportional_bytes));
  put(kProcesses, usage.processes);
  const std::size_t row = trace_.seconds.size() - 1;
  const std::size_t row_before = usage.disk_is_new || last ? disk_row_ : row;
  put_counter(kRead, usage.disk ? static_cast<double>(usage.disk->read_bytes) : kUnknown, row_before);
  put_counter(kWritten, usage.disk ? static_cast<double>(usage.disk->written_bytes) : kUnknown, row_before);
  if (row_before != row) disk_row_ = row;
}

void ResourceSampler::sample(double seconds, bool last) {
  const double now = now_seconds();
  trace_.seconds.push_back(to_micro(seconds));
  put_tree(now, last);
  put_network(now, last);
  if (gpus_.empty()) return;
  read_gpus(now, last);
  put_gpus();
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
