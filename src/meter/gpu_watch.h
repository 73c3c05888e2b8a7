#pragma once

#include <memory>
#include <optional>
#include <string>

#include "meter/nvml.h"
#include "record/run_record.h"

namespace trainyard::meter {

// What a GPU did at the beginning and at the end of the timed steps.
struct GpuUse {
  GpuSample before, after;
};

// One GPU of this machine, by its address on the PCI bus; "": none. Where the driver does not know it,
// samples hold nothing. Opening takes some milliseconds, a sample less than one.
class GpuWatch {
 public:
  explicit GpuWatch(const std::string& pci_address);

  GpuSample sample() const;
  const Nvml* nvml() const { return nvml_.get(); }  // null: there is no GPU to watch

 private:
  std::unique_ptr<Nvml> nvml_;
  std::optional<int> device_;
};

// gpu_power_watts_before, gpu_power_watts_after, ...: what is known of them.
void add_gpu_figures(const GpuUse& use, record::RunRecord& run);

}  // namespace trainyard::meter
