#pragma once

#include "meter/system_files.h"
#include "record/run_record.h"

namespace trainyard::meter {

// CpuUse is the CPU use between two snapshots. "Machine" counts every process on it, in steps of 10 ms a
// core.
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
  // Returns the number of cores that other processes kept busy. Children that still run count as others.
  double other_cores() const;
  double machine_cores() const;
  // Share of the machine's time that its hypervisor gave to other virtual machines.
  double steal_fraction() const;
};

struct CpuSnapshot {
  double steady_seconds = 0;
  CpuUse so_far;  // since the process or the machine started; wall_seconds is 0

  CpuUse since(const CpuSnapshot& earlier) const;
};

CpuSnapshot read_cpu(const SystemFiles& files = SystemFiles());

// Returns warnings of kind "cores": threads that may run on another number of cores than asked for, more CPU
// time than these cores can give, or a control group that grants less.
std::vector<record::Warning> check_cores(int cores_asked, std::span<const int> in_reach, double cores_used,
                                         std::optional<double> quota_cores);

// ThreadTimes is the CPU time of the live threads of this process by name, in steps of 10 ms. Threads of one
// name are counted together.
struct ThreadTimes {
  std::string name;
  int threads = 0;
  double user_seconds = 0, system_seconds = 0;
};
std::vector<ThreadTimes> read_thread_times(const SystemFiles& files = SystemFiles());

// Names the calling thread, for that list and for debuggers; at most 15 letters.
void name_thread(const char* name);

// Frequency describes the core of the calling thread, because an idle core rests at a low clock that means
// nothing. Virtual machines have none of these values.
struct Frequency {
  std::optional<std::string> governor;
  std::optional<double> min_mhz, max_mhz, current_mhz;
};

Frequency read_frequency(const SystemFiles& files);

// Returns how often the cores and packages of this machine were throttled for heat since boot; 0 where the
// kernel does not count it.
std::int64_t thermal_throttle_count(const SystemFiles& files);

}  // namespace trainyard::meter
