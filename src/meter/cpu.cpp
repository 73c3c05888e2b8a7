#include "meter/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "base/clock.h"

namespace trainyard::meter {

namespace {

double to_seconds(const ::timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void read_process(CpuUse& use) {
  ::rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
  use.user_seconds = to_seconds(usage.ru_utime);
  use.system_seconds = to_seconds(usage.ru_stime);
  use.voluntary_switches = usage.ru_nvcsw;
  use.involuntary_switches = usage.ru_nivcsw;
  use.minor_faults = usage.ru_minflt;
  use.major_faults = usage.ru_majflt;
}

// "cpu user nice system idle iowait irq softirq steal guest guest_nice", in ticks; guests are part of user
// and nice.
void read_machine(const SystemFiles& files, CpuUse& use) {
  enum { user = 1, nice, system, idle, iowait, irq, softirq, steal };
  const std::string text = files.text("/proc/stat", 512).value_or("");
  const auto words = split_words(std::string_view(text).substr(0, text.find('\n')));
  if (words.size() <= steal || words[0] != "cpu") return;
  const double tick_seconds = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto seconds = [&](int column) {
    return static_cast<double>(leading_integer(words[static_cast<std::size_t>(column)]).value_or(0)) *
           tick_seconds;
  };
  use.machine_busy_seconds =
      seconds(user) + seconds(nice) + seconds(system) + seconds(irq) + seconds(softirq);
  use.machine_steal_seconds = seconds(steal);
  use.machine_seconds =
      use.machine_busy_seconds + use.machine_steal_seconds + seconds(idle) + seconds(iowait);
}

}  // namespace

double CpuUse::cores_used() const { return wall_seconds > 0 ? cpu_seconds() / wall_seconds : 0; }

double CpuUse::other_cores() const {
  return wall_seconds > 0 ? std::max(0.0, machine_busy_seconds - cpu_seconds()) / wall_seconds : 0;
}

double CpuUse::machine_cores() const { return wall_seconds > 0 ? machine_seconds / wall_seconds : 0; }

double CpuUse::steal_fraction() const {
  return machine_seconds > 0 ? machine_steal_seconds / machine_seconds : 0;
}

CpuUse CpuSnapshot::since(const CpuSnapshot& earlier) const {
  const CpuUse &now = so_far, &then = earlier.so_far;
  return {.wall_seconds = steady_seconds - earlier.steady_seconds,
          .user_seconds = now.user_seconds - then.user_seconds,
          .system_seconds = now.system_seconds - then.system_seconds,
          .voluntary_switches = now.voluntary_switches - then.voluntary_switches,
          .involuntary_switches = now.involuntary_switches - then.involuntary_switches,
          .minor_faults = now.minor_faults - then.minor_faults,
          .major_faults = now.major_faults - then.major_faults,
          .machine_seconds = now.machine_seconds - then.machine_seconds,
          .machine_busy_seconds = now.machine_busy_seconds - then.machine_busy_seconds,
          .machine_steal_seconds = now.machine_steal_seconds - then.machine_steal_seconds,
          .load_average = now.load_average};
}

CpuSnapshot read_cpu(const SystemFiles& files) {
  CpuSnapshot snapshot;
  snapshot.steady_seconds = now_seconds();
  read_process(snapshot.so_far);
  read_machine(files, snapshot.so_far);
  if (const auto load = files.text("/proc/loadavg")) snapshot.so_far.load_average = std::atof(load->c_str());
  return snapshot;
}

std::vector<record::Warning> check_cores(int cores_asked, std::span<const int> in_reach, double cores_used,
                                         std::optional<double> quota_cores) {
  std::vector<record::Warning> warnings;
  const auto warn = [&](const std::string& text) {
    warnings.push_back({"cores", fmt::format("{} cores asked for, but {}", cores_asked, text)});
  };
  if (in_reach.size() != static_cast<std::size_t>(cores_asked))
    warn(fmt::format("threads may run on {}", in_reach.size()));
  if (cores_used > 1.05 * cores_asked + 0.05) warn(fmt::format("{:.2f} were used", cores_used));
  if (quota_cores && *quota_cores < cores_asked)
    warn(fmt::format("the control group grants {:.2f}", *quota_cores));
  return warnings;
}

namespace {

// utime and stime are the 12th and 13th words behind the name, which stands in parentheses and may hold any.
constexpr std::size_t kUserWord = 11, kSystemWord = 12;

}  // namespace

std::vector<ThreadTimes> read_thread_times(const SystemFiles& files) {
  std::map<std::string, ThreadTimes> by_name;
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::error_code code;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", code)) {
    const auto text = files.text((task.path() / "stat").string());
    if (!text) continue;  // it ended
    const std::size_t open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    const std::vector<std::string_view> words = split_words(std::string_view(*text).substr(close + 1));
    if (words.size() <= kSystemWord) continue;
    ThreadTimes& times = by_name[text->substr(open + 1, close - open - 1)];
    ++times.threads;
    times.user_seconds += static_cast<double>(leading_integer(words[kUserWord]).value_or(0)) * tick;
    times.system_seconds += static_cast<double>(leading_integer(words[kSystemWord]).value_or(0)) * tick;
  }
  std::vector<ThreadTimes> list;
  for (auto& [name, times] : by_name) {
    times.name = name;
    list.push_back(std::move(times));
  }
  return list;
}

void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

Frequency read_frequency(const SystemFiles& files) {
  std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/", ::sched_getcpu());
  if (!files.exists(folder)) folder = "/sys/devices/system/cpu/cpu0/cpufreq/";
  const auto mhz = [&](const char* name) -> std::optional<double> {
    const auto khz = files.integer(folder + name);
    if (!khz) return std::nullopt;
    return static_cast<double>(*khz) / 1e3;
  };
  return {.governor = files.text(folder + "scaling_governor"),
          .min_mhz = mhz("cpuinfo_min_freq"),
          .max_mhz = mhz("cpuinfo_max_freq"),
          .current_mhz = mhz("scaling_cur_freq")};
}

std::int64_t thermal_throttle_count(const SystemFiles& files) {
  std::int64_t count = 0;
  for (const int cpu : parse_cpu_list(files.text("/sys/devices/system/cpu/online").value_or(""))) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/thermal_throttle/", cpu);
    const auto core = files.integer(folder + "core_throttle_count");
    if (!core) break;  // one core without the counters: all are
    count += *core + files.integer(folder + "package_throttle_count").value_or(0);
  }
  return count;
}

}  // namespace trainyard::meter
