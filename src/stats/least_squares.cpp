#include "stats/least_squares.h"

#include "base/error.h"
#include "base/sample_order.h"

namespace trainyard::stats {

namespace {

// A remainder of a column below this share of the longest column is rounding.
constexpr double kDependent = 1e-11;

double norm_below(const Matrix& a, std::size_t column, std::size_t row) {
  double sum = 0;
  for (std::size_t i = row; i < a.rows(); ++i) sum += a(i, column) * a(i, column);
  return std::sqrt(sum);
}

void exchange(Matrix& a, std::size_t first, std::size_t second) {
  for (std::size_t i = 0; i < a.rows(); ++i) std::swap(a(i, first), a(i, second));
}

// Reflects the entries below `pivot` of its column onto the diagonal, in all columns to the right and in b.
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

namespace {

constexpr double kDifference = 1e-6;
constexpr double kLeastGain = 1e-9;  // of the loss, over which a round is worth another

using ResidualsOf = std::function<void(const std::vector<double>&, std::vector<double>&)>;

double huber(double residual, double tolerated) {
  const double size = std::abs(residual);
  return size <= tolerated ? size * size / 2 : tolerated * (size - tolerated / 2);
}

double loss_of(const std::vector<double>& residuals, double tolerated) {
  double sum = 0;
  for (const double residual : residuals) sum += huber(residual, tolerated);
  return sum / static_cast<double>(residuals.size());
}

// Holds J'WJ and J'Wr for Huber's weights: few parameters, many residuals.
struct Normal {
  Matrix curvature;
  std::vector<double> gradient;
};

Normal normal_equations(const std::vector<double>& parameters, const std::vector<double>& residuals,
                        double tolerated, const ResidualsOf& residuals_of) {
  const std::size_t count = parameters.size();
  Matrix slopes(count, residuals.size());
  std::vector<double> moved_residuals;
  for (std::size_t p = 0; p < count; ++p) {
    std::vector<double> moved = parameters;
    const double step = kDifference * std::max(1.0, std::abs(moved[p]));
    moved[p] += step;
    residuals_of(moved, moved_residuals);
    for (std::size_t i = 0; i < residuals.size(); ++i)
      slopes(p, i) = (moved_residuals[i] - residuals[i]) / step;
  }
  Normal normal{Matrix(count, count), std::vector<double>(count, 0.0)};
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double weight = std::min(1.0, tolerated / std::max(std::abs(residuals[i]), 1e-300));
    for (std::size_t p = 0; p < count; ++p) {
      normal.gradient[p] -= weight * slopes(p, i) * residuals[i];
      for (std::size_t q = 0; q <= p; ++q) normal.curvature(p, q) += weight * slopes(p, i) * slopes(q, i);
    }
  }
  for (std::size_t p = 0; p < count; ++p)
    for (std::size_t q = p + 1; q < count; ++q) normal.curvature(p, q) = normal.curvature(q, p);
  return normal;
}

std::vector<double> damped_step(const Normal& normal, double damping) {
  Matrix damped = normal.curvature;
  for (std::size_t p = 0; p < damped.rows(); ++p)
    damped(p, p) += damping * std::max(normal.curvature(p, p), 1e-12);
  return solve_least_squares(std::move(damped), normal.gradient);
}

}  // namespace

RobustFit fit_robustly(std::vector<double> start, double tolerated, const ResidualsOf& residuals_of,
                       int most_rounds) {
  std::vector<double> residuals, tried_residuals;
  residuals_of(start, residuals);
  RobustFit fit{std::move(start), loss_of(residuals, tolerated), 0};
  double damping = 1e-3;
  for (; fit.rounds < most_rounds; ++fit.rounds) {
    const Normal normal = normal_equations(fit.parameters, residuals, tolerated, residuals_of);
    const double before = fit.loss;
    for (; damping < 1e12; damping *= 4) {
      const std::vector<double> step = damped_step(normal, damping);
      std::vector<double> tried = fit.parameters;
      for (std::size_t p = 0; p < tried.size(); ++p) tried[p] += step[p];
      residuals_of(tried, tried_residuals);
      const double loss = loss_of(tried_residuals, tolerated);
      if (!(loss < fit.loss)) continue;
      fit.parameters = std::move(tried);
      fit.loss = loss;
      residuals.swap(tried_residuals);
      damping = std::max(damping / 10, 1e-12);
      break;
    }
    if (before - fit.loss <= kLeastGain * before) break;
    damping = std::min(damping, 1e9);
  }
  return fit;
}

std::vector<int> assign_folds(std::size_t count, int folds, std::uint64_t seed) {
  std::vector<int> fold(count);
  if (count == 0) return fold;
  const SampleOrder order(seed, static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i)
    fold[static_cast<std::size_t>(order.index(static_cast<std::int64_t>(i)))] = static_cast<int>(i) % folds;
  return fold;
}

std::vector<int> assign_group_folds(const std::vector<std::size_t>& groups, int folds, std::uint64_t seed) {
  const std::size_t count = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  const std::vector<int> of_group = assign_folds(count, folds, seed);
  std::vector<int> fold;
  for (const std::size_t group : groups) fold.push_back(of_group[group]);
  return fold;
}

}  // namespace trainyard::stats
