#include "analyze/robust_fit.h"

#include <algorithm>
#include <cmath>

#include "analyze/least_squares.h"

namespace trainyard::analyze {
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

// J'WJ and J'Wr for Huber's weights: few parameters, many residuals.
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

}  // namespace trainyard::analyze
