#pragma once

#include "base/standard.h"

namespace trainyard::meter {

// GpuDescription describes an NVIDIA GPU. Absent: this board or driver does not report it.
struct GpuDescription {
  std::string name, uuid;
  std::optional<std::int64_t> memory_bytes;
  std::optional<int> max_sm_mhz, max_memory_mhz;
  std::optional<double> power_limit_watts;
  std::optional<bool> persistence, ecc, mig;
};

// GpuLoad holds the current load, which changes fast.
struct GpuLoad {
  std::optional<double> busy_fraction, memory_busy_fraction;  // of the driver's last sampling period
  std::optional<std::int64_t> memory_used_bytes;              // by all processes, and the driver
  std::optional<double> power_watts;
};

struct GpuClocks {
  std::optional<int> sm_mhz, memory_mhz;
};

// GpuSample holds every value that changes.
struct GpuSample : GpuLoad, GpuClocks {
  std::optional<int> temperature_celsius;
  std::optional<double> energy_joules;        // since the driver was loaded
  std::vector<std::string> throttle_reasons;  // those that make it slower than it could be
};

struct GpuProcess {
  int pid = 0;
  std::int64_t memory_bytes = 0;
};

// Nvml is the driver's management library, loaded at run time. It counts every GPU of the machine, whatever
// CUDA_VISIBLE_DEVICES says. Thread-safe.
class Nvml {
 public:
  // Returns nullptr where there is no library, no driver or no GPU.
  static std::unique_ptr<Nvml> open();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  int device_count() const;
  std::string driver_version() const;
  std::string cuda_version() const;  // that the driver supports: "13.0"
  // Finds a GPU by its address on the PCI bus, in CUDA's notation: "0000:1b:00.0".
  std::optional<int> find(const std::string& pci_address) const;
  // REQUIRES: 0 <= device < device_count().
  GpuDescription describe(int device) const;
  GpuLoad load(int device) const;
  GpuClocks clocks(int device) const;
  std::optional<double> energy_joules(int device) const;
  GpuSample sample(int device) const;
  // Returns the processes that compute there, by their ids outside of any container; absent where the driver
  // does not report them.
  std::optional<std::vector<GpuProcess>> processes(int device) const;

  // Returns the clock of the multiprocessors that programs have by default, else the highest.
  std::optional<int> default_sm_mhz(int device) const;
  // Locks that clock for all processes until it is released, also after this process ends. Both return "" or
  // the reason for the failure.
  std::string lock_sm_clock(int device, int mhz) const;
  std::string release_sm_clock(int device) const;

 private:
  struct Functions;
  void* handle_of(int device) const;
  explicit Nvml(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
  std::vector<void*> devices_;
};

// Returns the reasons in NVML's bit mask, without those that are no loss (idle, a clock that was asked for).
std::vector<std::string> throttle_reasons(std::uint64_t mask);

}  // namespace trainyard::meter
