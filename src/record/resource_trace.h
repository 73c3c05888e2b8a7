#pragma once

#include "base/standard.h"

namespace trainyard::record {

struct TraceColumn {
  enum class Kind {
    counter,  // grows from 0 at the start; what it grew by came since the sample before
    gauge,    // as it was when sampled
  };
  std::string name;  // with its unit: cpu_seconds, resident_bytes, gpu0_busy_fraction
  Kind kind = Kind::gauge;
  std::optional<double> capacity;  // of a gauge, or of a counter's growth in a second
  std::vector<double> values;      // NaN: not known
};

// ResourceTrace is the resource use of a command, sample by sample. docs/formats/profile.md describes its
// file.
struct ResourceTrace {
  std::vector<double> seconds;  // since the command began, ascending
  std::vector<TraceColumn> columns;

  const TraceColumn* find(std::string_view name) const;  // null: there is none
};

std::string to_csv(const ResourceTrace& trace);

// Reads a trace of ours, or one of GPUAlloc's and Driple's sampler: six columns without time stamps, sampled
// at `seed_hz`. Throws Error (config) naming file and line.
ResourceTrace read_resource_trace(const std::filesystem::path& path, double seed_hz);

// Writes the file whole or not at all.
void write_resource_trace(const ResourceTrace& trace, const std::filesystem::path& path);

}  // namespace trainyard::record
