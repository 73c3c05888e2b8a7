#include "analyze/log_regression.h"

#include <cmath>

#include "analyze/features.h"
#include "analyze/folds.h"
#include "base/error.h"
#include "record/statistics.h"

namespace trainyard::analyze {
namespace {

constexpr std::uint64_t kFoldSeed = 1;

// With a last column of ones, and only the rows for which `keep` says so.
template <typename Keep>
std::vector<double> fit_rows(const Matrix& features, const std::vector<double>& target, const Keep& keep) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < target.size(); ++i)
    if (keep(i)) rows.push_back(i);
  Matrix a(rows.size(), features.columns());
  std::vector<double> b;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < features.columns(); ++c) a(i, c) = features(rows[i], c);
    b.push_back(target[rows[i]]);
  }
  return solve_least_squares(std::move(a), std::move(b));
}

double squared(double value) { return value * value; }

}  // namespace

LogRegression fit_power_law(std::span<const Point> points, const std::vector<std::string>& dimensions,
                            const std::string& metric, int order, int folds) {
  std::vector<const Point*> used;
  for (const Point* point : with_metric(points, metric))
    if (point->metric(metric) > 0) used.push_back(point);
  if (std::ssize(used) < folds)
    fail(ErrorKind::config, "analyze: {} points have a positive '{}', {} folds need as many", used.size(),
         metric, folds);
  const Matrix logarithms = feature_rows(used, dimensions, order, true);
  Matrix rows(used.size(), logarithms.columns() + 1);
  std::vector<double> target;
  for (std::size_t i = 0; i < used.size(); ++i) {
    for (std::size_t c = 0; c < logarithms.columns(); ++c) rows(i, c) = logarithms(i, c);
    rows(i, logarithms.columns()) = 1;
    target.push_back(std::log2(used[i]->metric(metric)));
  }
  LogRegression result{feature_names(dimensions, order), {}, 0, 0, 0, folds, used.size()};
  result.coefficients = fit_rows(rows, target, [](std::size_t) { return true; });
  const std::vector<int> fold = assign_folds(used.size(), folds, kFoldSeed);
  std::vector<std::vector<double>> held_out;
  for (int f = 0; f < folds; ++f)
    held_out.push_back(fit_rows(rows, target, [&](std::size_t i) { return fold[i] != f; }));
  double error = 0, validated = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    error += squared(target[i] - dot(rows.row(i), result.coefficients));
    validated += squared(target[i] - dot(rows.row(i), held_out[static_cast<std::size_t>(fold[i])]));
  }
  const double total = record::population_variance(target) * static_cast<double>(used.size());
  result.r2 = total > 0 ? 1 - error / total : 0;
  result.cross_validated_r2 = total > 0 ? 1 - validated / total : 0;
  result.intercept = result.coefficients.back();
  result.coefficients.pop_back();
  return result;
}

}  // namespace trainyard::analyze
