#pragma once

#include <cstddef>
#include <vector>

namespace trainyard::analyze {

// A symmetric matrix by its lower triangle, and Cholesky's factor of it in its place.
class LowerTriangle {
 public:
  explicit LowerTriangle(std::size_t count) : count_(count), numbers_(count * (count + 1) / 2) {}

  double& at(std::size_t row, std::size_t column) { return numbers_[row * (row + 1) / 2 + column]; }
  double at(std::size_t row, std::size_t column) const { return numbers_[row * (row + 1) / 2 + column]; }

  // REQUIRES: positive definite.
  void factorise();
  // Solve L y = b, L' y = b, and L L' y = b.
  void solve_lower(std::vector<double>& b) const;
  void solve_upper(std::vector<double>& b) const;
  std::vector<double> solve(std::vector<double> b) const;

 private:
  std::size_t count_;
  std::vector<double> numbers_;
};

}  // namespace trainyard::analyze
