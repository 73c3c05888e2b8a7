#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/point.h"

namespace trainyard::analyze {

// How a metric depends on the dimensions: weights of a linear model in which everything has mean 0 and
// deviation 1, so that they can be compared with each other. That of a dimension that does not vary is 0.
struct Regression {
  std::vector<std::string> features;
  std::vector<double> weights;
  double r2 = 0;                   // share of the variance that it explains
  double mean_absolute_error = 0;  // in deviations of the metric
  std::size_t points = 0;
};

// Order 1: the dimensions; order 2: also all products of two. Error (config) when fewer than two points have
// the metric, or a point lacks a dimension.
Regression standardised_weights(std::span<const Point> points, const std::vector<std::string>& dimensions,
                                const std::string& metric, int order);

}  // namespace trainyard::analyze
