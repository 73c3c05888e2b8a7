#include "analyze/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace trainyard::analyze {
namespace {

// What is left of a column below this share of the longest is rounding.
constexpr double kDependent = 1e-11;

double norm_below(const Matrix& a, std::size_t column, std::size_t row) {
  double sum = 0;
  for (std::size_t i = row; i < a.rows(); ++i) sum += a(i, column) * a(i, column);
  return std::sqrt(sum);
}

void exchange(Matrix& a, std::size_t first, std::size_t second) {
  for (std::size_t i = 0; i < a.rows(); ++i) std::swap(a(i, first), a(i, second));
}

// Reflects what is below `pivot` of its column onto the diagonal, in all columns to the right and in b.
void reflect(Matrix& a, std::vector<double>& b, std::size_t pivot, double norm) {
  const double diagonal = a(pivot, pivot) > 0 ? -norm : norm;
  std::vector<double> v(a.rows() - pivot);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = a(pivot + i, pivot);
  v[0] -= diagonal;
  const double square = dot(v, v);
  if (square == 0) return;
  for (std::size_t column = pivot; column < a.columns(); ++column) {
    double along = 0;
    for (std::size_t i = 0; i < v.size(); ++i) along += v[i] * a(pivot + i, column);
    for (std::size_t i = 0; i < v.size(); ++i) a(pivot + i, column) -= 2 * along / square * v[i];
  }
  const double along = dot(v, std::span(b).subspan(pivot));
  for (std::size_t i = 0; i < v.size(); ++i) b[pivot + i] -= 2 * along / square * v[i];
}

}  // namespace

double dot(std::span<const double> row, std::span<const double> coefficients) {
  return std::inner_product(row.begin(), row.end(), coefficients.begin(), 0.0);
}

std::vector<double> solve_least_squares(Matrix a, std::vector<double> b) {
  TRAINYARD_CHECK(b.size() == a.rows());
  std::vector<std::size_t> order(a.columns());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t most = std::min(a.rows(), a.columns());
  std::size_t rank = 0;
  double longest = 0;
  for (; rank < most; ++rank) {
    std::size_t best = rank;
    double norm = 0;
    for (std::size_t column = rank; column < a.columns(); ++column)
      if (const double length = norm_below(a, column, rank); length > norm) {
        norm = length;
        best = column;
      }
    if (rank == 0) longest = norm;
    if (!(norm > kDependent * longest)) break;
    exchange(a, rank, best);
    std::swap(order[rank], order[best]);
    reflect(a, b, rank, norm);
  }
  std::vector<double> x(a.columns(), 0.0);
  for (std::size_t i = rank; i-- > 0;) {
    double rest = b[i];
    for (std::size_t column = i + 1; column < rank; ++column) rest -= a(i, column) * x[order[column]];
    x[order[i]] = rest / a(i, i);
  }
  return x;
}

}  // namespace trainyard::analyze
