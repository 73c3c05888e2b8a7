#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

// Whether GPUs did anything while this lived: asks the driver several times a second, in a thread of its own.
class GpuActivity {
 public:
  struct Gpu {
    int number = 0;  // as the driver counts them
    std::string name;
    int looks = 0;
    double busiest_fraction = 0;  // of the busiest look
  };

  // Of the GPUs that CUDA_VISIBLE_DEVICES names, by number or name, else of all. Without a driver: of none.
  GpuActivity();

  std::vector<Gpu> finish();  // once

 private:
  void work(const std::stop_token& stop);

  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
  std::jthread thread_;  // last: it uses the others
};

// Those of the machine's GPUs that the text names as CUDA_VISIBLE_DEVICES does: numbers, or the beginnings of
// their names "GPU-..."; what follows an unknown one does not count. Without a text, all.
std::vector<int> visible_gpus(const std::optional<std::string>& text, const std::vector<std::string>& uuids);
// Those that CUDA_VISIBLE_DEVICES of this process names, else all.
std::vector<int> visible_gpus(const Nvml& nvml);

// Drawing a screen, and asking itself, keep a GPU busy for a few per cent: what is busy for less than this
// does no work.
inline constexpr double kGpuBusyFraction = 0.05;

// GPUs that this process was given and does not use: those that Slurm allotted, else, for a run on GPUs,
// those of CUDA_VISIBLE_DEVICES. `used`: on this machine, 0 for a run on the CPU.
std::optional<record::Warning> check_given_gpus(int used);

// gpu_power_watts_before, gpu_power_watts_after, ...: what is known of them.
void add_gpu_figures(const GpuUse& use, record::RunRecord& run);

}  // namespace trainyard::meter
