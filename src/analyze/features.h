#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/least_squares.h"
#include "analyze/point.h"

namespace trainyard::analyze {

// Columns of a regression: the dimensions, and with order two all products of two of them, squares included.
std::vector<std::string> feature_names(const std::vector<std::string>& dimensions, int order);

// A row of them for each point. Error (config) names a dimension that a point lacks.
Matrix feature_rows(std::span<const Point* const> points, const std::vector<std::string>& dimensions,
                    int order, bool logarithms);

// Mean 0 and deviation 1 over the rows; a column that does not vary becomes 0.
struct Scaling {
  std::vector<double> means, deviations;  // population deviation; 0: does not vary
};
Scaling scaling_of(const Matrix& rows);
Matrix standardised(const Matrix& rows, const Scaling& scaling);

}  // namespace trainyard::analyze
