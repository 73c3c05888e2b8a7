#pragma once

#include <span>

namespace trainyard::record {

struct Summary {
  double mean = 0, median = 0, min = 0, p95 = 0;
};

// REQUIRES: at least one sample.
Summary summarise(std::span<const double> samples);

// Linear interpolation between order statistics, q in [0, 1].
double quantile(std::span<const double> samples, double q);

}  // namespace trainyard::record
