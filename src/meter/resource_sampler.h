#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "meter/nvml.h"
#include "meter/pace.h"
#include "meter/process_stat.h"
#include "meter/system_files.h"
#include "meter/tree_meter.h"
#include "record/resource_trace.h"

namespace trainyard::meter {

// Rows of what the processes below this one use, and of what the network and the GPUs of the machine do
// meanwhile: docs/formats/profile.md says of which columns. For one thread.
class ResourceSampler {
 public:
  // `nvml` may be null, and must outlive it, as `tree` must.
  ResourceSampler(TreeMeter& tree, const Nvml* nvml);

  // A row, `seconds` after the begin; the first is the base of all counters. In the last no counter is of an
  // earlier reading, whatever it costs.
  void sample(double seconds, bool last = false);
  // Takes the last row back, but for the first: counters lose nothing by it.
  void forget_last();
  double last_seconds() const { return trace_.seconds.back(); }
  double latest(std::string_view column) const;  // NaN: not known
  // CPU time that reading took: files and clocks of the kernel, the GPUs' driver.
  double kernel_seconds() const { return tree_.spent_seconds() + network_.spent_seconds(); }
  double driver_seconds() const;

  // All rows, without the columns of which nothing was ever known.
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
  // The driver makes new figures of its load ten times a second or less: asking at every row buys nothing.
  Pace gpu_load_{0.001, 0.05}, gpu_clocks_{0.0002, 0.5}, gpu_energy_{0.0001, 0.5},
      gpu_processes_{0.0002, 0.5};
};

}  // namespace trainyard::meter
