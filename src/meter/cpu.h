#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "meter/system_files.h"
#include "record/provenance.h"

namespace trainyard::meter {

// What happened between two snapshots. "Machine" is every process on it and comes in steps of 10 ms a core.
struct CpuUse {
  double wall_seconds = 0;
  double user_seconds = 0, system_seconds = 0;  // of this process, all threads
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
  double machine_seconds = 0;  // wall seconds times cores; 0: /proc/stat cannot be read
  double machine_busy_seconds = 0, machine_steal_seconds = 0;
  double load_average = 0;  // of the last minute, at the end

  double cpu_seconds() const { return user_seconds + system_seconds; }
  double cores_used() const;
  // Kept busy by others; children that still run count as others.
  double other_cores() const;
  double machine_cores() const;
  // Share of the machine's time that its hypervisor gave to somebody else.
  double steal_fraction() const;
};

struct CpuSnapshot {
  double steady_seconds = 0;
  CpuUse so_far;  // since the process or the machine started; wall_seconds is 0

  CpuUse since(const CpuSnapshot& earlier) const;
};

CpuSnapshot read_cpu(const SystemFiles& files = SystemFiles());

// What is wrong about the cores, each a warning of kind "cores": threads that may run on another number of
// cores than were asked for, more CPU time than these can give, a control group that grants less.
std::vector<record::Warning> check_cores(int cores_asked, std::span<const int> in_reach, double cores_used,
                                         std::optional<double> quota_cores);

}  // namespace trainyard::meter
