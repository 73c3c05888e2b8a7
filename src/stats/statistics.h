#pragma once

#include "base/standard.h"

namespace trainyard::stats {

struct Interval {
  double low = 0, high = 0;

  double half_width() const { return (high - low) / 2; }
};

// The next two functions use Student's distribution; `freedom` > 0 may be fractional (Welch), and infinity
// gives the normal one.

// Returns P(|T| >= |t|).
double two_sided_p(double t, double freedom);

// Returns the t with P(T <= t) = probability, 0 < probability < 1.
double t_quantile(double probability, double freedom);

// Returns P(F >= ratio) of the F distribution with these degrees of freedom, both positive.
double f_tail(double ratio, double numerator_freedom, double denominator_freedom);

struct Summary {
  double mean = 0, median = 0, min = 0, p95 = 0;
};

// All of the following functions REQUIRE at least one sample.
Summary summarise(std::span<const double> samples);

double mean(std::span<const double> samples);
double median(std::span<const double> samples);

// Linear interpolation between order statistics (numpy's default), q in [0, 1].
double quantile(std::span<const double> samples, double q);
double quantile_of_sorted(std::span<const double> sorted, double q);
std::vector<double> sorted_copy(std::span<const double> samples);

// Divided by n (as numpy) and by n - 1 (0 for one sample).
double population_variance(std::span<const double> samples);
double sample_variance(std::span<const double> samples);

// 1.4826 * median |x - median(x)|: estimates the standard deviation of normal samples, whatever few
// outliers do.
double scaled_mad(std::span<const double> samples);

// Returns the positions of the samples beyond Tukey's far fences, Q1 - 3 IQR and Q3 + 3 IQR. Reports show
// them and do not delete them.
std::vector<std::int64_t> find_outliers(std::span<const double> samples);

// Returns the 95 % interval of the median of the distribution that the samples come from, by order statistics
// with interpolation (Hettmansperger & Sheather 1986), which assumes nothing about the distribution. Up to
// five samples do not reach 95 % by their order alone: the range of 2 to 4 is widened as normal samples would
// need, that of 5 by a share of the gaps beside its ends, which suits any distribution.
// REQUIRES: two samples.
Interval order_interval(std::span<const double> samples);

// Two levels that lie nearest to weighted values, in the sense of least squares (k-means with k = 2).
struct TwoMeans {
  double low = 0, high = 0;  // the levels, low < high
  double high_share = 0;     // of the weight
  double explained = 0;      // share of the variance that the two levels account for, 0 to 1
  double boundary() const { return (low + high) / 2; }  // what lies above belongs to the higher level
};

// Returns the best of all splits, found by sorting: it depends on no start and on no order of the values, and
// the levels are ordered, so that they are never exchanged. Returns nothing when all values are equal.
// REQUIRES: as many weights as values; finite values, weights above 0.
std::optional<TwoMeans> two_means(std::span<const double> values, std::span<const double> weights);

}  // namespace trainyard::stats
