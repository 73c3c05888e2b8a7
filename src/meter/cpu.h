#pragma once

#include <span>
#include <vector>

#include "record/provenance.h"

namespace trainyard::meter {

// CPU seconds of all threads of this process, user and system.
double process_cpu_seconds();

struct CpuUse {
  double cpu_seconds = 0, wall_seconds = 0;

  double cores_used() const { return wall_seconds > 0 ? cpu_seconds / wall_seconds : 0; }
};

// Counts from its construction on.
class CpuClock {
 public:
  CpuClock();
  CpuUse elapsed() const;

 private:
  double cpu_seconds_, wall_seconds_;
};

// What is wrong about the cores, each a warning of kind "cores": threads that may run on another number of
// cores than were asked for, or more CPU time than these can give.
std::vector<record::Warning> check_cores(int cores_asked, std::span<const int> in_reach, double cores_used);

}  // namespace trainyard::meter
