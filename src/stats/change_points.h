#pragma once

#include "stats/permutation.h"

namespace trainyard::stats {

// A segment is a stretch of a series with one level.
struct Segment {
  std::size_t begin = 0, end = 0;
  double level = 0;

  std::size_t steps() const { return end - begin; }
};

// Returns the series with single spikes replaced by the median of their neighbourhood.
std::vector<double> without_spikes(std::span<const double> series);

// Square root of the long-run variance: the mean of n steps on one level has the standard error noise /
// sqrt(n). Neither changes of level nor spikes count. Never zero for a series that is not.
double lasting_noise(std::span<const double> series);

// Cuts the series at its changes of level; one segment when there are none. REQUIRES: at least eight steps.
std::vector<Segment> level_segments(std::span<const double> series, double noise);

// A figure is measured repeatedly, at one build after the other, several runs each.
using BuildRuns = std::vector<double>;  // positive values; at least one

struct ChangeOptions {
  Centre centre = Centre::highest_third;  // what the runs of a build come to
  double level = 0.05;                    // how often a series without a change may show one
  double minimum_effect = 0.03;           // smaller steps do not matter
};

// The level changed at build `at`.
struct Change {
  std::size_t at = 0;
  // The change lies between these two builds with 95 % certainty; they are at - 1 and at where it is sharp.
  std::size_t last_before = 0, first_after = 0;
  double before = 0, after = 0;  // levels on either side
  double p_value = 1;

  double ratio() const { return after / before; }
};

// Finds step changes of the level, in the order of the builds, by circular binary segmentation (Olshen et
// al., Biostatistics 2004), which also sees a change that is undone. A change must pass two tests. The first
// permutes the runs over the builds, against random differences among runs. The second is against the
// machine's wobble from build to build, which runs of one day share: it measures the change in steps between
// neighbouring builds, with a simulated null distribution. Fewer than six builds cannot show their wobble,
// and then runs alone decide.
std::vector<Change> find_changes(std::span<const BuildRuns> builds, const ChangeOptions& options = {});

// The wobble counts from this number of builds on.
inline constexpr std::size_t kBuildsThatShowWobble = 6;

}  // namespace trainyard::stats
