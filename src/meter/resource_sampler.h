#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "meter/kept_file.h"
#include "meter/nvml.h"
#include "meter/pace.h"
#include "meter/tree_meter.h"
#include "record/resource_trace.h"

namespace trainyard::meter {

// Rows of what the processes below this one use, and of what the network and the GPUs of the machine do
// meanwhile: docs/formats/profile.md says of which columns. For one thread.
class ResourceSampler {
 public:
  // `nvml` may be null, and must outlive it, as `tree` must.
  ResourceSampler(TreeMeter& tree, const Nvml* nvml);

  // A row, `seconds` after the begin; the first is the base of all counters. In the last nothing is of an
  // earlier reading, whatever it costs.
  void sample(double seconds, bool last = false);
  // Takes the last row back, but for the first: counters lose nothing by it.
  void forget_last();
  double last_seconds() const { return trace_.seconds.back(); }
  double latest(std::string_view column) const;  // NaN: not known

  // All rows, without the columns of which nothing was ever known.
  record::ResourceTrace take();

 private:
  struct Gpu {
    int device = 0;
    std::size_t first_column = 0;
    GpuLoad load;
    std::optional<double> sm_mhz, memory_mhz, energy_joules, energy_before, process_bytes;
  };
  std::size_t add_column(std::string name, record::TraceColumn::Kind kind,
                         std::optional<double> capacity = {});
  void put(std::size_t column, double value) { trace_.columns[column].values.push_back(value); }
  void add_gpus();
  void read_slow(Gpu& gpu);
  void put_gpus(double now, bool last);
  void put_network();

  TreeMeter& tree_;
  const Nvml* const nvml_;
  record::ResourceTrace trace_;
  KeptFile network_file_{"/proc/self/net/dev"};
  std::optional<std::int64_t> sent_before_, received_before_, loopback_before_;
  std::vector<Gpu> gpus_;
  Pace gpu_load_{0.002}, gpu_slow_{0.0003, 0.1};
};

}  // namespace trainyard::meter
