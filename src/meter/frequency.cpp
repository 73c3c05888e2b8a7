#include "meter/frequency.h"

#include <sched.h>

#include <fmt/core.h>

namespace trainyard::meter {

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

}  // namespace trainyard::meter
