#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::record {

struct Summary {
  double mean = 0, median = 0, min = 0, p95 = 0;
};

// All of these REQUIRE at least one sample.
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

// Positions of the samples beyond Tukey's far fences, Q1 - 3 IQR and Q3 + 3 IQR. They are to be shown, not
// deleted.
std::vector<std::int64_t> find_outliers(std::span<const double> samples);

}  // namespace trainyard::record
