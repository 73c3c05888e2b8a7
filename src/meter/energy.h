#pragma once

#include "meter/nvml.h"
#include "meter/system_files.h"

namespace trainyard::meter {

// Energy is the joules that the machine's parts used since a start: processors by RAPL where it is readable,
// GPUs by NVML. Absent: no part reports it.
struct Energy {
  std::optional<double> processor_joules, gpu_joules;

  bool known() const { return processor_joules || gpu_joules; }
  double joules() const { return processor_joules.value_or(0) + gpu_joules.value_or(0); }
};

// EnergyMeter counts from its construction. RAPL's counters wrap after some minutes at full load, so the
// owner must read it more often than that.
class EnergyMeter {
 public:
  explicit EnergyMeter(const SystemFiles& files = SystemFiles());
  ~EnergyMeter();

  Energy read();
  // Returns the mean over all GPUs in the driver's last sampling period; absent where none reports it.
  std::optional<double> gpu_busy_fraction() const;

 private:
  struct Package {
    std::string folder;
    double last = 0, range = 0, joules = 0;
  };
  const SystemFiles files_;
  std::vector<Package> packages_;
  std::unique_ptr<Nvml> nvml_;
  std::optional<double> gpu_before_;
};

}  // namespace trainyard::meter
