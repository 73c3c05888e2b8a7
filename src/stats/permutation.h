#pragma once

#include "stats/statistics.h"

namespace trainyard::stats {

// Samples of two sides that were taken under the same circumstances, on one node for instance.
struct Stratum {
  std::vector<double> a, b;
};

// A centre says how the location of samples is measured.
enum class Centre {
  highest_third,  // the mean of the highest third: where disturbances only ever lower a sample
  lowest_third,   // of the lowest third: where they only ever raise it
  median,
};

double centre_of(std::span<const double> samples, Centre centre);

// Holds the means over the strata of the centres of either side, weighted by the information of a stratum
// about their difference. REQUIRES: both sides in every stratum.
struct Centres {
  double a = 0, b = 0;

  double difference() const { return b - a; }
};

Centres centres_of(std::span<const Stratum> strata, Centre centre);

// Returns the two-sided p-value of the hypothesis that in every stratum both sides come from one
// distribution: the share of all labellings of the samples that separate the centres at least as far as the
// true labels do (Fisher, Pitman). The value is exact for any distribution as long as all labellings can be
// counted; beyond that a fixed sample of labellings is drawn.
double permutation_p_value(std::span<const Stratum> strata, Centre centre);

// Returns the smallest p-value that samples of these numbers can have.
double smallest_p_value(std::span<const Stratum> strata);

// Returns the differences b - a that the same test accepts at the 5 % level: a 95 % interval. Returns nothing
// where the samples are too few to reject any difference.
std::optional<Interval> permutation_interval(std::span<const Stratum> strata, Centre centre);

}  // namespace trainyard::stats
