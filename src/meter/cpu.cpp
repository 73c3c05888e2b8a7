#include "meter/cpu.h"

#include <ctime>

#include <fmt/core.h>

#include "base/clock.h"

namespace trainyard::meter {

double process_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

CpuClock::CpuClock() : cpu_seconds_(process_cpu_seconds()), wall_seconds_(now_seconds()) {}

CpuUse CpuClock::elapsed() const {
  return {process_cpu_seconds() - cpu_seconds_, now_seconds() - wall_seconds_};
}

std::vector<record::Warning> check_cores(int cores_asked, std::span<const int> in_reach, double cores_used) {
  std::vector<record::Warning> warnings;
  if (in_reach.size() != static_cast<std::size_t>(cores_asked))
    warnings.push_back({"cores", fmt::format("{} cores asked for, but threads may run on {}", cores_asked,
                                             in_reach.size())});
  if (cores_used > 1.05 * cores_asked + 0.05)
    warnings.push_back(
        {"cores", fmt::format("{} cores asked for, but {:.2f} were used", cores_asked, cores_used)});
  return warnings;
}

}  // namespace trainyard::meter
