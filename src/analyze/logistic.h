#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/point.h"

namespace trainyard::analyze {

// Classification predicts from the dimensions on which side of a threshold a metric falls. It is a logistic
// regression on standardised features, fitted by iteratively reweighted least squares.
struct Classification {
  std::vector<std::string> features;
  std::vector<double> weights;  // of the log odds, for one deviation of the feature
  double intercept = 0;
  double base_rate = 0;  // share of the points above the threshold
  double accuracy = 0, cross_validated_accuracy = 0;
  int folds = 0;
  std::size_t points = 0;
};

// A slight pull of the weights towards 0 keeps them finite where a feature separates the points completely.
// `logarithms` takes the logarithms of the dimensions. Throws Error (config) as fit_power_law does.
Classification classify_above(std::span<const Point> points, const std::vector<std::string>& dimensions,
                              const std::string& metric, double threshold, bool logarithms, int folds = 10);

}  // namespace trainyard::analyze
