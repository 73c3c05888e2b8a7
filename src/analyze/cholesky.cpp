#include "analyze/cholesky.h"

#include <algorithm>
#include <cmath>

namespace trainyard::analyze {

void LowerTriangle::factorise() {
  for (std::size_t i = 0; i < count_; ++i) {
    double* row = &at(i, 0);
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = &at(j, 0);
      double rest = row[j];
      for (std::size_t k = 0; k < j; ++k) rest -= row[k] * other[k];
      row[j] = i == j ? std::sqrt(std::max(rest, 1e-300)) : rest / other[j];
    }
  }
}

void LowerTriangle::solve_lower(std::vector<double>& b) const {
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double* row = numbers_.data() + i * (i + 1) / 2;
    double rest = b[i];
    for (std::size_t j = 0; j < i; ++j) rest -= row[j] * b[j];
    b[i] = rest / row[i];
  }
}

void LowerTriangle::solve_upper(std::vector<double>& b) const {
  for (std::size_t i = b.size(); i-- > 0;) {
    b[i] /= at(i, i);
    for (std::size_t j = 0; j < i; ++j) b[j] -= at(i, j) * b[i];
  }
}

std::vector<double> LowerTriangle::solve(std::vector<double> b) const {
  solve_lower(b);
  solve_upper(b);
  return b;
}

}  // namespace trainyard::analyze
