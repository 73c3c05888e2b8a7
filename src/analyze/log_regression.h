#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/point.h"

namespace trainyard::analyze {

// A power law: log2 of the metric as a linear (order 1) or quadratic (order 2) function of log2 of the
// dimensions. With order 1 a coefficient is the exponent of its dimension.
struct LogRegression {
  std::vector<std::string> features;
  std::vector<double> coefficients;
  double intercept = 0;
  double r2 = 0;                  // of the fit, in logarithms
  double cross_validated_r2 = 0;  // of points that were held out
  int folds = 0;
  std::size_t points = 0;
};

// Points whose metric is not positive are left out. Error (config) when fewer points than folds remain, or a
// dimension is not positive.
LogRegression fit_power_law(std::span<const Point> points, const std::vector<std::string>& dimensions,
                            const std::string& metric, int order, int folds = 10);

}  // namespace trainyard::analyze
