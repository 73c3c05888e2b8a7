#include "analyze/features.h"

#include <cmath>

#include "base/error.h"
#include "record/statistics.h"

namespace trainyard::analyze {

std::vector<std::string> feature_names(const std::vector<std::string>& dimensions, int order) {
  std::vector<std::string> names = dimensions;
  for (std::size_t i = 0; order > 1 && i < dimensions.size(); ++i)
    for (std::size_t j = i; j < dimensions.size(); ++j)
      names.push_back(dimensions[i] + " x " + dimensions[j]);
  return names;
}

Matrix feature_rows(std::span<const Point* const> points, const std::vector<std::string>& dimensions,
                    int order, bool logarithms) {
  Matrix rows(points.size(), feature_names(dimensions, order).size());
  for (std::size_t row = 0; row < points.size(); ++row) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      const double value = points[row]->key(dimensions[i]);
      if (!std::isfinite(value) || (logarithms && value <= 0))
        fail(ErrorKind::config, "analyze: '{}' is not a {}number in every point", dimensions[i],
             logarithms ? "positive " : "");
      rows(row, i) = logarithms ? std::log2(value) : value;
    }
    std::size_t column = dimensions.size();
    for (std::size_t i = 0; order > 1 && i < dimensions.size(); ++i)
      for (std::size_t j = i; j < dimensions.size(); ++j, ++column)
        rows(row, column) = rows(row, i) * rows(row, j);
  }
  return rows;
}

Scaling scaling_of(const Matrix& rows) {
  Scaling scaling;
  std::vector<double> column(rows.rows());
  for (std::size_t c = 0; c < rows.columns(); ++c) {
    for (std::size_t r = 0; r < rows.rows(); ++r) column[r] = rows(r, c);
    const double mean = record::mean(column), deviation = std::sqrt(record::population_variance(column));
    // Rounding leaves a little deviation in a large constant.
    scaling.means.push_back(mean);
    scaling.deviations.push_back(deviation > 1e-12 * std::abs(mean) ? deviation : 0);
  }
  return scaling;
}

Matrix standardised(const Matrix& rows, const Scaling& scaling) {
  Matrix result(rows.rows(), rows.columns());
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t c = 0; c < rows.columns(); ++c)
      result(r, c) = scaling.deviations[c] > 0 ? (rows(r, c) - scaling.means[c]) / scaling.deviations[c] : 0;
  return result;
}

}  // namespace trainyard::analyze
