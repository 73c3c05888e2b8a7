#pragma once

#include "base/standard.h"

namespace trainyard::stats {

// A dense matrix has one observation per row.
class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), cells_(rows * columns) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  double& operator()(std::size_t row, std::size_t column) { return cells_[row * columns_ + column]; }
  double operator()(std::size_t row, std::size_t column) const { return cells_[row * columns_ + column]; }
  std::span<const double> row(std::size_t row) const { return {cells_.data() + row * columns_, columns_}; }

 private:
  std::size_t rows_, columns_;
  std::vector<double> cells_;
};

// x that makes |a x - b| least, by Householder's QR with exchange of columns (Golub and Van Loan, 5.4). A
// column that depends on others, or is zero, gets 0. REQUIRES: b has as many entries as a has rows.
std::vector<double> solve_least_squares(Matrix a, std::vector<double> b);

// Returns row times coefficients.
double dot(std::span<const double> row, std::span<const double> coefficients);

// Parameters that make the residuals small, by Levenberg and Marquardt's method with numeric derivatives. A
// residual beyond `tolerated` counts as its size and no longer as its square (Huber 1964), so that few wild
// points do not lead the fit. Deterministic.
struct RobustFit {
  std::vector<double> parameters;
  double loss = 0;  // mean of Huber's loss
  int rounds = 0;
};

RobustFit fit_robustly(std::vector<double> start, double tolerated,
                       const std::function<void(const std::vector<double>& parameters,
                                                std::vector<double>& residuals)>& residuals_of,
                       int most_rounds = 200);

// Returns the fold, of `folds`, of each of `count` items, for cross-validation: sizes differ by at most one,
// and the same seed always gives the same folds.
std::vector<int> assign_folds(std::size_t count, int folds, std::uint64_t seed);

// Does the same for items in groups that have to stay together; `groups` holds the group number of each item.
std::vector<int> assign_group_folds(const std::vector<std::size_t>& groups, int folds, std::uint64_t seed);

}  // namespace trainyard::stats
