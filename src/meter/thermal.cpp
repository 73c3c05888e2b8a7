#include "meter/thermal.h"

#include <fmt/core.h>

namespace trainyard::meter {

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
