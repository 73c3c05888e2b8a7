#pragma once

#include <thread>

#include "meter/nvml.h"
#include "record/run_record.h"

namespace trainyard::meter {

// GpuUse holds samples of a GPU at the beginning and at the end of the timed steps.
struct GpuUse {
  GpuSample before, after;
};

// GpuWatch samples one GPU of this machine, given by its address on the PCI bus; "": none. Samples are empty
// where the driver does not know the GPU. Opening takes some milliseconds, a sample takes less than one.
class GpuWatch {
 public:
  explicit GpuWatch(const std::string& pci_address);

  GpuSample sample() const;
  const Nvml* nvml() const { return nvml_.get(); }  // null: there is no GPU to watch

 private:
  std::unique_ptr<Nvml> nvml_;
  std::optional<int> device_;
};

// GpuActivity tells whether GPUs did any work during its lifetime. Its own thread asks the driver several
// times a second.
class GpuActivity {
 public:
  struct Gpu {
    int number = 0;  // as the driver counts them
    std::string name;
    int looks = 0;
    double busiest_fraction = 0;  // of the busiest look
  };

  // Watches the GPUs that CUDA_VISIBLE_DEVICES names, by number or name, else all. Without a driver it
  // watches none.
  GpuActivity();

  std::vector<Gpu> finish();  // once

 private:
  void work(const std::stop_token& stop);

  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
  std::jthread thread_;  // last: it uses the others
};

// Returns those of the machine's GPUs that the text names in the way of CUDA_VISIBLE_DEVICES: by numbers, or
// by the beginnings of their names "GPU-...". Entries after an unknown one do not count. Without a text it
// returns all.
std::vector<int> visible_gpus(const std::optional<std::string>& text, const std::vector<std::string>& uuids);
// Returns the GPUs that CUDA_VISIBLE_DEVICES of this process names, else all.
std::vector<int> visible_gpus(const Nvml& nvml);

// Drawing a screen and the queries themselves keep a GPU busy for a few per cent, so a GPU that is busy for
// less than this does no work.
inline constexpr double kGpuBusyFraction = 0.05;

// Warns of GPUs that this process was given and does not use: those that Slurm allotted, else, for a run on
// GPUs, those of CUDA_VISIBLE_DEVICES. `used` counts GPUs of this machine and is 0 for a run on the CPU.
std::optional<record::Warning> check_given_gpus(int used);

// Adds gpu_power_watts_before, gpu_power_watts_after, ... where they are known.
void add_gpu_figures(const GpuUse& use, record::RunRecord& run);

}  // namespace trainyard::meter
