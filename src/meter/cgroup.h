#pragma once

#include "meter/system_files.h"

namespace trainyard::meter {

// CgroupLimits holds the limits that the control groups of this process (version 1 or 2) set. Absent: no
// limit, or none that is visible.
struct CgroupLimits {
  std::optional<double> cores;  // quota / period
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t>
      memory_left_bytes;                  // what nobody in the groups has taken of it; caches are free
  std::optional<std::int64_t> processes;  // that may still be started, threads counted
};

CgroupLimits read_cgroup_limits(const SystemFiles& files);

// CgroupThrottle tells how often and how long the quota has suspended this process and its siblings so far.
struct CgroupThrottle {
  std::int64_t periods = 0;
  double seconds = 0;
};

CgroupThrottle read_cgroup_throttle(const SystemFiles& files);

}  // namespace trainyard::meter
