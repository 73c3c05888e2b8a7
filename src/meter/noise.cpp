#include "meter/noise.h"

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "meter/gpu_watch.h"
#include "meter/process_stat.h"

namespace trainyard::meter {

namespace {

// The daemons of a resting machine take a hundredth of a core; a tenth is real work. A machine of many cores
// has more daemons, so the limit is also a fiftieth of the machine.
constexpr double kOtherCores = 0.1, kOtherFraction = 0.02;
// The kernel counts in ticks of 10 ms a core, so a short run shows nothing below two of them.
constexpr double kTickNoiseSeconds = 0.02;
// A loss of one per cent of the time is as large as the differences that people measure.
constexpr double kStealFraction = 0.01;
// Turbo steps are 3 to 4 % of the clock; a change of more than two of them is another speed.
constexpr double kFrequencyChange = 0.1;
// Swap is slower than memory by a factor of a thousand: one mebibyte moved already takes milliseconds.
constexpr std::int64_t kSwappedBytes = 1 << 20;
// Each major fault waits for a disk; a handful comes from code that runs for the first time.
constexpr std::int64_t kMajorFaults = 20;
// Network time slews the clock by at most 0.05 %. A larger change, beyond a tenth of a second, means that the
// clock was set.
constexpr double kClockSeconds = 0.1, kClockFraction = 0.001;

using Warnings = std::vector<record::Warning>;

void check_load(const CpuUse& use, Warnings& warnings) {
  if (const std::string complaint = complaint_about_load(use); !complaint.empty())
    warnings.push_back({"load", fmt::format("{} (this one {:.2f}; load average {:.2f})", complaint,
                                            use.cores_used(), use.load_average)});
}

void check_steal(const CpuUse& use, Warnings& warnings) {
  if (std::string complaint = complaint_about_steal(use); !complaint.empty())
    warnings.push_back({"steal", std::move(complaint)});
}

void check_frequency(const Frequency& before, const Frequency& after, Warnings& warnings) {
  if (before.current_mhz && after.current_mhz && *before.current_mhz > 0) {
    const double change = *after.current_mhz / *before.current_mhz - 1;
    if (std::abs(change) > kFrequencyChange)
      warnings.push_back(
          {"frequency", fmt::format("the core's clock went from {:.0f} to {:.0f} MHz ({:+.0f} %)",
                                    *before.current_mhz, *after.current_mhz, 100 * change)});
  }
  // This state of the machine disturbs all runs alike.
  if (after.governor == "powersave")
    warnings.push_back(
        {"governor", "the frequency governor is powersave: clocks follow the load, or stay low"});
}

void check_throttle(const NoiseReading& before, const NoiseReading& after, Warnings& warnings) {
  if (const std::int64_t events = after.thermal_throttles - before.thermal_throttles; events > 0)
    warnings.push_back({"throttle", fmt::format("the CPU was slowed for heat {} times", events)});
  if (const std::int64_t periods = after.quota.periods - before.quota.periods; periods > 0)
    warnings.push_back(
        {"throttle", fmt::format("the control group's CPU quota stopped the process in {} periods, {} in all",
                                 periods, format_seconds(after.quota.seconds - before.quota.seconds))});
  for (std::size_t gpu = 0; gpu < after.gpus.size(); ++gpu)
    if (const auto& reasons = after.gpus[gpu].throttle_reasons; !reasons.empty())
      warnings.push_back(
          {"throttle", fmt::format("GPU {} ran below its clocks at the end ({} MHz): {}", gpu,
                                   after.gpus[gpu].sm_mhz.value_or(0), joined(reasons, ", "))});
}

void check_memory(std::int64_t swapped_bytes, const CpuUse& use, Warnings& warnings) {
  if (swapped_bytes > kSwappedBytes)
    warnings.push_back({"memory", fmt::format("the machine swapped {}", format_bytes(swapped_bytes))});
  if (use.major_faults > kMajorFaults)
    warnings.push_back({"memory", fmt::format("{} page faults waited for a disk", use.major_faults)});
}

void check_clock(const NoiseReading& before, const NoiseReading& after, Warnings& warnings) {
  const double steady = after.cpu.steady_seconds - before.cpu.steady_seconds;
  const double wall = after.wall_clock_seconds - before.wall_clock_seconds;
  if (std::abs(wall - steady) <= kClockSeconds + kClockFraction * steady) return;
  warnings.push_back({"clock", fmt::format("the wall clock {} {:.3f} s while {:.3f} s passed",
                                           wall < 0 ? "went back by" : "advanced", std::abs(wall), steady)});
}

}  // namespace

std::string complaint_about_load(const CpuUse& use) {
  const double cores = use.machine_cores(), others = use.other_cores();
  const double resolution = use.wall_seconds > 0 ? kTickNoiseSeconds * cores / use.wall_seconds : 0;
  if (others <= std::max({kOtherCores, kOtherFraction * cores, resolution})) return "";
  return fmt::format("other processes kept {:.2f} of {:.0f} cores busy", others, cores);
}

std::string complaint_about_steal(const CpuUse& use) {
  if (use.steal_fraction() <= kStealFraction || use.machine_steal_seconds <= kTickNoiseSeconds) return "";
  return fmt::format("the hypervisor took {:.1f} % of the machine's time ({})", 100 * use.steal_fraction(),
                     format_seconds(use.machine_steal_seconds));
}

NoiseReading read_noise(const SystemFiles& files, const Nvml* nvml) {
  NoiseReading reading;
  reading.frequency = read_frequency(files);
  reading.thermal_throttles = thermal_throttle_count(files);
  reading.quota = read_cgroup_throttle(files);
  reading.swapped_bytes = swapped_bytes(files);
  for (int gpu = 0; nvml && gpu < nvml->device_count(); ++gpu) reading.gpus.push_back(nvml->sample(gpu));
  reading.cpu = read_cpu(files);
  reading.wall_clock_seconds = wall_seconds();
  return reading;
}

std::vector<record::Warning> find_noise(const NoiseReading& before, const NoiseReading& after) {
  const CpuUse use = after.cpu.since(before.cpu);
  Warnings warnings;
  check_load(use, warnings);
  check_steal(use, warnings);
  check_frequency(before.frequency, after.frequency, warnings);
  check_throttle(before, after, warnings);
  check_memory(after.swapped_bytes - before.swapped_bytes, use, warnings);
  check_clock(before, after, warnings);
  return warnings;
}

NoiseGuard::NoiseGuard(const Nvml* nvml, SystemFiles files)
    : files_(std::move(files)), nvml_(nvml), before_(read_noise(files_, nvml_)) {}

std::vector<record::Warning> NoiseGuard::finish(double beside_seconds) const {
  NoiseReading after = read_noise(files_, nvml_);
  after.cpu.so_far.user_seconds += beside_seconds;
  return find_noise(before_, after);
}

CpuUse NoiseGuard::cpu_use() const { return read_cpu(files_).since(before_.cpu); }

namespace {

constexpr double kWindowSeconds = 0.5;
// The gap between two bursts of one process may be as long as a window.
constexpr int kQuietWindows = 2;
// A request to stop may wait this long.
constexpr double kLongestPause = 0.1;

// Sleeps until the window that began with `first` is over. Returns false when `stop` came before.
bool pass_window(double seconds, const CpuSnapshot& first, const std::function<bool()>& stop,
                 const QuietView& view, CpuSnapshot& last) {
  for (;;) {
    if (stop()) return false;
    last = view.read_cpu();
    const double left = first.steady_seconds + seconds - last.steady_seconds;
    if (left <= 0) return true;
    view.pause(std::min(left, kLongestPause));
  }
}

std::string disturbance(const CpuUse& use, const QuietView& view) {
  if (std::string load = complaint_about_load(use); !load.empty()) return load;
  if (std::string steal = complaint_about_steal(use); !steal.empty()) return steal;
  return view.busy_gpu ? view.busy_gpu() : "";
}

std::string first_busy_gpu(const Nvml& nvml, const std::vector<int>& gpus) {
  for (const int gpu : gpus)
    if (const double busy = nvml.load(gpu).busy_fraction.value_or(0); busy >= kGpuBusyFraction)
      return fmt::format("GPU {} was busy for {:.0f} % of the time", gpu, 100 * busy);
  return "";
}

}  // namespace

QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop, const QuietView& view) {
  TRAINYARD_CHECK(at_most_seconds > 0);
  // A short wait still gets as many windows as a decision needs.
  const double window_seconds = std::min(kWindowSeconds, at_most_seconds / kQuietWindows);
  // Half of the last window may lie behind the limit, because sleeps end late and two windows have to fit.
  const double last_begin = at_most_seconds - 0.5 * window_seconds;
  QuietWait wait;
  const CpuSnapshot begin = view.read_cpu();
  CpuSnapshot first = begin, last = begin;
  for (int in_a_row = 0; in_a_row < kQuietWindows && wait.waited_seconds < last_begin; first = last) {
    const bool passed = pass_window(window_seconds, first, stop, view, last);
    wait.waited_seconds = last.steady_seconds - begin.steady_seconds;
    if (!passed) {
      if (wait.reason.empty()) wait.reason = "the waiting was interrupted";
      return wait;
    }
    std::string found = disturbance(last.since(first), view);
    in_a_row = found.empty() ? in_a_row + 1 : 0;
    if (!found.empty()) wait.reason = std::move(found);
    wait.quiet = in_a_row == kQuietWindows;
  }
  if (wait.quiet) wait.reason.clear();
  return wait;
}

QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop,
                           const SystemFiles& files, const Nvml* nvml) {
  const std::vector<int> gpus = nvml == nullptr ? std::vector<int>() : visible_gpus(*nvml);
  return wait_until_quiet(
      at_most_seconds, stop,
      QuietView{
          .read_cpu = [&] { return read_cpu(files); },
          .busy_gpu = [&] { return nvml == nullptr ? "" : first_busy_gpu(*nvml, gpus); },
          .pause =
              [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }});
}

}  // namespace trainyard::meter
