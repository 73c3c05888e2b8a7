#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analyze/period.h"
#include "analyze/signal.h"

namespace trainyard::analyze {

// All the time of one kind: idle, or bursts.
struct Stretches {
  std::size_t count = 0;
  double seconds = 0;                                                // together
  double mean_seconds = 0, median_seconds = 0, longest_seconds = 0;  // of one
  double mean = 0, p95 = 0;                                          // of the signal meanwhile, by time
};

struct Stretch {
  double from = 0, to = 0;
};

// A signal as idle times and bursts between them.
struct BurstProfile {
  double seconds = 0;  // of the whole signal
  double mean = 0, p95 = 0, most = 0;
  // The two levels that explain it best, and how much of its variance they explain. Equal: it has one level,
  // and is idle all the time, however high that level is. So it is, too, where only lone samples are of the
  // higher.
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

// Times are of the clock, and each value counts for as long as it held. A change of level takes two samples:
// one alone is noise. Levels that differ by less than a tenth of the higher, or a hundredth of the capacity,
// are one. REQUIRES: a value.
BurstProfile find_bursts(const Signal& signal);

}  // namespace trainyard::analyze
