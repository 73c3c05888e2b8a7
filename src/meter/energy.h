#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meter/nvml.h"
#include "meter/system_files.h"

namespace trainyard::meter {

// Joules that the machine's parts used since some moment: processors by RAPL where it may be read, GPUs by
// NVML. Absent: no part says it.
struct Energy {
  std::optional<double> processor_joules, gpu_joules;

  bool known() const { return processor_joules || gpu_joules; }
  double joules() const { return processor_joules.value_or(0) + gpu_joules.value_or(0); }
};

// Counts from when it is made. RAPL's counters begin anew after some minutes at full load: ask more often.
class EnergyMeter {
 public:
  explicit EnergyMeter(const SystemFiles& files = SystemFiles());
  ~EnergyMeter();

  Energy read();
  // Of all GPUs, in the driver's last sampling period; absent where none says it.
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
