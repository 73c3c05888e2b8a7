#pragma once

#include "base/standard.h"

namespace trainyard::stats {

// Returns the covariance of two places: exp(-|a - b|^2 / 2). REQUIRES: both have the same length.
double similarity(std::span<const double> a, std::span<const double> b);

// Holds the Cholesky factor of a covariance of `count` samples.
class CovarianceFactor {
 public:
  CovarianceFactor() = default;
  // Asks for (row, column) with column <= row. REQUIRES: positive definite.
  CovarianceFactor(std::size_t count, const std::function<double(std::size_t, std::size_t)>& covariance);

  void forward_substitute(std::vector<double>& b) const;  // b becomes y of L y = b
  void solve(std::vector<double>& b) const;               // b becomes covariance^-1 b

 private:
  std::vector<double> lower_;  // triangle, row by row
};

}  // namespace trainyard::stats
