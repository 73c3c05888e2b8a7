#include "stats/gaussian_process.h"

namespace trainyard::stats {

namespace {

std::size_t row_begin(std::size_t row) { return row * (row + 1) / 2; }

// The loop keeps several independent sums, because this function takes most of the time of a factorisation.
double dot(const double* a, const double* b, std::size_t count) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  double sum = 0;
  for (const double part : sums) sum += part;
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

double similarity(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::exp(-square / 2);
}

CovarianceFactor::CovarianceFactor(std::size_t count,
                                   const std::function<double(std::size_t, std::size_t)>& covariance)
    : lower_(row_begin(count)) {
  for (std::size_t i = 0; i < count; ++i) {
    double* row = lower_.data() + row_begin(i);
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = lower_.data() + row_begin(j);
      const double rest = covariance(i, j) - dot(row, other, j);
      row[j] = i == j ? std::sqrt(std::max(rest, 1e-300)) : rest / other[j];
    }
  }
}

void CovarianceFactor::forward_substitute(std::vector<double>& b) const {
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double* row = lower_.data() + row_begin(i);
    b[i] = (b[i] - dot(row, b.data(), i)) / row[i];
  }
}

void CovarianceFactor::solve(std::vector<double>& b) const {
  forward_substitute(b);
  for (std::size_t i = b.size(); i-- > 0;) {
    b[i] /= lower_[row_begin(i) + i];
    for (std::size_t j = 0; j < i; ++j) b[j] -= lower_[row_begin(i) + j] * b[i];
  }
}

}  // namespace trainyard::stats
