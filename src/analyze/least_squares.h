#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace trainyard::analyze {

// Dense, a row an observation.
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

// Row times coefficients.
double dot(std::span<const double> row, std::span<const double> coefficients);

}  // namespace trainyard::analyze
