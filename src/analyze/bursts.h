#pragma once

#include "record/resource_trace.h"

namespace trainyard::analyze {

struct Period {
  double seconds = 0;
  double correlation = 0;  // of the signal with itself, so much later: 1 repeats exactly
};

// Signal is one resource over time: value i holds from edge i to edge i + 1.
struct Signal {
  std::string name;  // with its unit: cpu_cores, disk_read_bytes_per_second, gpu0_busy_fraction
  std::vector<double> edges, values;
  std::optional<double> capacity;

  double duration(std::size_t i) const { return edges[i + 1] - edges[i]; }
  std::vector<double> durations() const;
};

// Finds the period by autocorrelation. Returns nothing where the signal does not repeat clearly, or repeats
// fewer than three times.
std::optional<Period> find_period(const Signal& signal);

// Makes a signal of every column that has a known value, except energy, whose signal is power. A counter
// becomes its growth per second. Where a value is not known, the last known one still holds.
std::vector<Signal> signals_of(const record::ResourceTrace& trace);

// Returns means over so many equal parts of the time, or over fewer where there are fewer values.
Signal resampled(const Signal& signal, std::size_t parts);

// Stretches sums up all the time of one kind: idle, or bursts.
struct Stretches {
  std::size_t count = 0;
  double seconds = 0;                                                // together
  double mean_seconds = 0, median_seconds = 0, longest_seconds = 0;  // of one
  double mean = 0, p95 = 0;                                          // of the signal meanwhile, by time
};

struct Stretch {
  double from = 0, to = 0;
};

// BurstProfile describes a signal as idle times and the bursts between them.
struct BurstProfile {
  double seconds = 0;  // of the whole signal
  double mean = 0, p95 = 0, most = 0;
  // The two levels that explain the signal best, and the share of its variance that they explain. Equal
  // levels mean that the signal has one level and is idle all the time, however high that level is. The same
  // holds where only lone samples are of the higher level.
  double low = 0, high = 0, explained = 0;
  Stretches idle, burst;
  std::vector<Stretch> bursts;  // in order
  std::size_t lone_samples =
      0;  // on the other side of the boundary than their neighbours; counted with these
  std::optional<double> peak_share;  // of the time, above nine tenths of the capacity
  std::optional<Period> period;

  bool has_bursts() const { return !bursts.empty(); }
  double burst_share() const { return seconds > 0 ? burst.seconds / seconds : 0; }
};

// Times are wall-clock times, and each value counts for as long as it held. A change of level takes two
// samples, because one alone is noise. Levels that differ by less than a tenth of the higher one, or by less
// than a hundredth of the capacity, count as one. REQUIRES: a value.
BurstProfile find_bursts(const Signal& signal);

}  // namespace trainyard::analyze
