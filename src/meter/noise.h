#pragma once

#include "meter/cgroup.h"
#include "meter/cpu.h"
#include "meter/nvml.h"
#include "meter/system_files.h"
#include "record/run_record.h"

namespace trainyard::meter {

// NoiseReading holds everything that can disturb a measurement, at one moment.
struct NoiseReading {
  CpuSnapshot cpu;
  double wall_clock_seconds = 0;  // since 1970
  Frequency frequency;
  std::int64_t thermal_throttles = 0;
  CgroupThrottle quota;
  std::int64_t swapped_bytes = 0;
  std::vector<GpuSample> gpus;
};

NoiseReading read_noise(const SystemFiles& files, const Nvml* nvml = nullptr);

// Each returns one line about the load of others on the machine; "" when it is too small to disturb a
// measurement.
std::string complaint_about_load(const CpuUse& use);   // other processes
std::string complaint_about_steal(const CpuUse& use);  // the hypervisor

// Returns the reasons why the time between two readings was bad for measuring, of kinds load, steal,
// frequency, governor, throttle, memory, clock. It returns at most a few lines, with figures, and none on a
// quiet machine.
std::vector<record::Warning> find_noise(const NoiseReading& before, const NoiseReading& after);

// NoiseGuard encloses a timed loop: construct it before, call finish() after. A reading takes about a tenth
// of a millisecond.
class NoiseGuard {
 public:
  // With `nvml`, which must outlive the guard, GPUs are watched too.
  explicit NoiseGuard(const Nvml* nvml = nullptr, SystemFiles files = SystemFiles());

  // `beside_seconds` is the CPU time since then of other processes that belong to the measurement.
  std::vector<record::Warning> finish(double beside_seconds = 0) const;
  // Returns the CPU use since the guard was constructed.
  CpuUse cpu_use() const;

 private:
  SystemFiles files_;
  const Nvml* nvml_;
  NoiseReading before_;
};

struct QuietWait {
  double waited_seconds = 0;
  bool quiet = false;
  std::string reason;  // what disturbed the last window that was not quiet, in one line; empty when quiet
};

// QuietView gives the wait its view of the machine and its way to pass the time.
struct QuietView {
  std::function<CpuSnapshot()> read_cpu;
  std::function<std::string()> busy_gpu;  // one line about a GPU that works; "": none does
  std::function<void(double)> pause;      // for so many seconds
};

// Waits until neither other processes nor the hypervisor take more of the machine than find_noise() allows,
// in two windows of half a second in a row. It waits at most so long, and only until `stop` turns true.
// Running children of this process count as others. REQUIRES: at_most_seconds > 0.
QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop, const QuietView& view);

// Waits on this machine. With `nvml`, the GPUs that this process may see have to be idle too.
QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop,
                           const SystemFiles& files = SystemFiles(), const Nvml* nvml = nullptr);

}  // namespace trainyard::meter
