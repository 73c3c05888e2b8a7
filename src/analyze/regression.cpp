#include "analyze/regression.h"

#include <cmath>

#include "analyze/features.h"
#include "base/error.h"

namespace trainyard::analyze {

Regression standardised_weights(std::span<const Point> points, const std::vector<std::string>& dimensions,
                                const std::string& metric, int order) {
  const std::vector<const Point*> used = with_metric(points, metric);
  if (used.size() < 2)
    fail(ErrorKind::config, "analyze: {} points have '{}', a regression needs two", used.size(), metric);
  Matrix values(used.size(), 1);
  for (std::size_t i = 0; i < used.size(); ++i) values(i, 0) = used[i]->metric(metric);
  const Matrix scaled = standardised(values, scaling_of(values));
  std::vector<double> target(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) target[i] = scaled(i, 0);
  const Matrix raw = feature_rows(used, dimensions, order, false);
  const Matrix rows = standardised(raw, scaling_of(raw));
  Regression result{feature_names(dimensions, order), solve_least_squares(rows, target), 0, 0, used.size()};
  double squares = 0, absolute = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const double error = target[i] - dot(rows.row(i), result.weights);
    squares += error * error;
    absolute += std::abs(error);
  }
  const auto count = static_cast<double>(used.size());
  const double total = dot(target, target);
  result.r2 = total > 0 ? 1 - squares / total : 0;
  result.mean_absolute_error = absolute / count;
  return result;
}

}  // namespace trainyard::analyze
