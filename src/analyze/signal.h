#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/resource_trace.h"

namespace trainyard::analyze {

// One resource over time: value i holds from edge i to edge i + 1.
struct Signal {
  std::string name;  // with its unit: cpu_cores, disk_read_bytes_per_second, gpu0_busy_fraction
  std::vector<double> edges, values;
  std::optional<double> capacity;

  double duration(std::size_t i) const { return edges[i + 1] - edges[i]; }
  std::vector<double> durations() const;
};

// Of every column that is known at some moment, but energy, of which power is the signal; a counter becomes
// what it grew by in a second. Where a value is not known, the last one that was still holds.
std::vector<Signal> signals_of(const record::ResourceTrace& trace);

// Means over so many equal parts of the time, or over fewer where there are not as many values.
Signal resampled(const Signal& signal, std::size_t parts);

}  // namespace trainyard::analyze
