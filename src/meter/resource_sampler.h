#pragma once

#include "meter/nvml.h"
#include "meter/pace.h"
#include "meter/process_stat.h"
#include "meter/system_files.h"
#include "meter/tree_meter.h"
#include "record/resource_trace.h"

namespace trainyard::meter {

// ResourceSampler makes rows of the resource use of the processes below this one, and of the activity of the
// network and the GPUs of the machine; docs/formats/profile.md lists the columns. Not thread-safe: one thread
// uses it.
class ResourceSampler {
 public:
  // `tree` and `nvml`, which may be null, must outlive the sampler.
  ResourceSampler(TreeMeter& tree, const Nvml* nvml);

  // Adds a row, `seconds` after the start; the first is the base of all counters. The last one reads every
  // counter anew, whatever that costs.
  void sample(double seconds, bool last = false);
  // Removes the last row, unless it is the first. Counters lose nothing by it.
  void forget_last();
  double last_seconds() const { return trace_.seconds.back(); }
  double latest(std::string_view column) const;  // NaN: not known
  // Returns the CPU time of the readings: files and clocks of the kernel, and the GPUs' driver.
  double kernel_seconds() const { return tree_.spent_seconds() + network_.spent_seconds(); }
  double driver_seconds() const;

  // Returns all rows, without the columns that never had a known value.
  record::ResourceTrace take();

 private:
  struct Gpu {
    int device = 0;
    std::size_t first_column = 0;
    GpuLoad load;
    GpuClocks clocks;
    std::optional<double> energy_joules, energy_before, process_bytes;
  };
  std::size_t add_column(std::string name, record::TraceColumn::Kind kind,
                         std::optional<double> capacity = {});
  void put(std::size_t column, double value) { trace_.columns[column].values.push_back(value); }
  void add_gpus();
  void read_process_bytes(Gpu& gpu);
  void read_gpus(double now, bool last);
  void put_gpus();
  void put_tree(double now, bool last);
  void put_counter(std::size_t column, double value, std::size_t row_before);
  void put_network(double now, bool last);

  TreeMeter& tree_;
  const Nvml* const nvml_;
  record::ResourceTrace trace_;
  KeptFile network_file_{"/proc/self/net/dev"};
  std::optional<NetworkBytes> network_before_;  // when the first row was made
  std::size_t disk_row_ = 0, network_row_ = 0;  // in which they were last read
  std::vector<Gpu> gpus_;
  Pace network_{0.0002};
  // The driver updates its load figures ten times a second or less, so asking at every row gains nothing.
  Pace gpu_load_{0.001, 0.05}, gpu_clocks_{0.0002, 0.5}, gpu_energy_{0.0001, 0.5},
      gpu_processes_{0.0002, 0.5};
};

}  // namespace trainyard::meter
