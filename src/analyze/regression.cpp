#include "analyze/regression.h"

namespace trainyard::analyze {

std::vector<std::string> feature_names(const std::vector<std::string>& dimensions, int order) {
  std::vector<std::string> names = dimensions;
  for (std::size_t i = 0; order > 1 && i < dimensions.size(); ++i)
    for (std::size_t j = i; j < dimensions.size(); ++j)
      names.push_back(dimensions[i] + " x " + dimensions[j]);
  return names;
}

stats::Matrix feature_rows(std::span<const Point* const> points, const std::vector<std::string>& dimensions,
                           int order, bool logarithms) {
  stats::Matrix rows(points.size(), feature_names(dimensions, order).size());
  for (std::size_t row = 0; row < points.size(); ++row) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      const double value = points[row]->key(dimensions[i]);
      if (!std::isfinite(value) || (logarithms && value <= 0))
        fail(ErrorKind::config, "analyze: '{}' is not a {}number in every point", dimensions[i],
             logarithms ? "positive " : "");
      rows(row, i) = logarithms ? std::log2(value) : value;
    }
    std::size_t column = dimensions.size();
    for (std::size_t i = 0; order > 1 && i < dimensions.size(); ++i)
      for (std::size_t j = i; j < dimensions.size(); ++j, ++column)
        rows(row, column) = rows(row, i) * rows(row, j);
  }
  return rows;
}

ColumnScaling scaling_of(const stats::Matrix& rows) {
  ColumnScaling scaling;
  std::vector<double> column(rows.rows());
  for (std::size_t c = 0; c < rows.columns(); ++c) {
    for (std::size_t r = 0; r < rows.rows(); ++r) column[r] = rows(r, c);
    const double mean = stats::mean(column), deviation = std::sqrt(stats::population_variance(column));
    // Rounding leaves a little deviation in a large constant.
    scaling.means.push_back(mean);
    scaling.deviations.push_back(deviation > 1e-12 * std::abs(mean) ? deviation : 0);
  }
  return scaling;
}

stats::Matrix standardised(const stats::Matrix& rows, const ColumnScaling& scaling) {
  stats::Matrix result(rows.rows(), rows.columns());
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t c = 0; c < rows.columns(); ++c)
      result(r, c) = scaling.deviations[c] > 0 ? (rows(r, c) - scaling.means[c]) / scaling.deviations[c] : 0;
  return result;
}

namespace {

constexpr std::uint64_t kFoldSeed = 1;

// Appends a column of ones, and copies only the rows that `keep` accepts.
template <typename Keep>
std::vector<double> fit_rows(const stats::Matrix& features, const std::vector<double>& target,
                             const Keep& keep) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < target.size(); ++i)
    if (keep(i)) rows.push_back(i);
  stats::Matrix a(rows.size(), features.columns());
  std::vector<double> b;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < features.columns(); ++c) a(i, c) = features(rows[i], c);
    b.push_back(target[rows[i]]);
  }
  return stats::solve_least_squares(std::move(a), std::move(b));
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
  const stats::Matrix logarithms = feature_rows(used, dimensions, order, true);
  stats::Matrix rows(used.size(), logarithms.columns() + 1);
  std::vector<double> target;
  for (std::size_t i = 0; i < used.size(); ++i) {
    for (std::size_t c = 0; c < logarithms.columns(); ++c) rows(i, c) = logarithms(i, c);
    rows(i, logarithms.columns()) = 1;
    target.push_back(std::log2(used[i]->metric(metric)));
  }
  LogRegression result{feature_names(dimensions, order), {}, 0, 0, 0, folds, used.size()};
  result.coefficients = fit_rows(rows, target, [](std::size_t) { return true; });
  const std::vector<int> fold = stats::assign_folds(used.size(), folds, kFoldSeed);
  std::vector<std::vector<double>> held_out;
  for (int f = 0; f < folds; ++f)
    held_out.push_back(fit_rows(rows, target, [&](std::size_t i) { return fold[i] != f; }));
  double error = 0, validated = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    error += squared(target[i] - stats::dot(rows.row(i), result.coefficients));
    validated += squared(target[i] - stats::dot(rows.row(i), held_out[static_cast<std::size_t>(fold[i])]));
  }
  const double total = stats::population_variance(target) * static_cast<double>(used.size());
  result.r2 = total > 0 ? 1 - error / total : 0;
  result.cross_validated_r2 = total > 0 ? 1 - validated / total : 0;
  result.intercept = result.coefficients.back();
  result.coefficients.pop_back();
  return result;
}

Regression standardised_weights(std::span<const Point> points, const std::vector<std::string>& dimensions,
                                const std::string& metric, int order) {
  const std::vector<const Point*> used = with_metric(points, metric);
  if (used.size() < 2)
    fail(ErrorKind::config, "analyze: {} points have '{}', a regression needs two", used.size(), metric);
  stats::Matrix values(used.size(), 1);
  for (std::size_t i = 0; i < used.size(); ++i) values(i, 0) = used[i]->metric(metric);
  const stats::Matrix scaled = standardised(values, scaling_of(values));
  std::vector<double> target(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) target[i] = scaled(i, 0);
  const stats::Matrix raw = feature_rows(used, dimensions, order, false);
  const stats::Matrix rows = standardised(raw, scaling_of(raw));
  Regression result{feature_names(dimensions, order), stats::solve_least_squares(rows, target), 0, 0,
                    used.size()};
  double squares = 0, absolute = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const double error = target[i] - stats::dot(rows.row(i), result.weights);
    squares += error * error;
    absolute += std::abs(error);
  }
  const auto count = static_cast<double>(used.size());
  const double total = stats::dot(target, target);
  result.r2 = total > 0 ? 1 - squares / total : 0;
  result.mean_absolute_error = absolute / count;
  return result;
}

namespace {

constexpr std::uint64_t kLogisticSeed = 1;
constexpr double kRidge = 1e-2;  // in points: what the pull towards 0 weighs
constexpr int kMostRounds = 100;
constexpr double kSettled = 1e-10;

double probability(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

// One Newton step is a least squares problem in which each row has a weight and a working target.
// Regularisation adds a row for each weight except the intercept, which stands last.
std::vector<double> newton_step(const stats::Matrix& rows, const std::vector<double>& labels,
                                const std::vector<double>& weights) {
  const std::size_t features = rows.columns() - 1;
  stats::Matrix a(rows.rows() + features, rows.columns());
  std::vector<double> b(a.rows(), 0.0);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const double log_odds = stats::dot(rows.row(i), weights), p = probability(log_odds);
    const double root = std::sqrt(std::max(p * (1 - p), 1e-12));
    for (std::size_t c = 0; c < rows.columns(); ++c) a(i, c) = root * rows(i, c);
    b[i] = root * log_odds + (labels[i] - p) / root;
  }
  for (std::size_t c = 0; c < features; ++c) a(rows.rows() + c, c) = std::sqrt(kRidge);
  return stats::solve_least_squares(std::move(a), std::move(b));
}

std::vector<double> fit(const stats::Matrix& rows, const std::vector<double>& labels) {
  std::vector<double> weights(rows.columns(), 0.0);
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<double> next = newton_step(rows, labels, weights);
    double change = 0;
    for (std::size_t c = 0; c < weights.size(); ++c)
      change = std::max(change, std::abs(next[c] - weights[c]));
    weights = next;
    if (change < kSettled) break;
  }
  return weights;
}

stats::Matrix with_ones(const stats::Matrix& rows) {
  stats::Matrix result(rows.rows(), rows.columns() + 1);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    for (std::size_t c = 0; c < rows.columns(); ++c) result(r, c) = rows(r, c);
    result(r, rows.columns()) = 1;
  }
  return result;
}

// Returns the rows outside of a fold.
std::pair<stats::Matrix, std::vector<double>> training_rows(const stats::Matrix& rows,
                                                            const std::vector<double>& labels,
                                                            const std::vector<int>& fold, int held_out) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (fold[i] != held_out) kept.push_back(i);
  stats::Matrix training(kept.size(), rows.columns());
  std::vector<double> wanted;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (std::size_t c = 0; c < rows.columns(); ++c) training(i, c) = rows(kept[i], c);
    wanted.push_back(labels[kept[i]]);
  }
  return {std::move(training), std::move(wanted)};
}

bool is_right(std::span<const double> row, const std::vector<double>& weights, double label) {
  return (stats::dot(row, weights) > 0) == (label > 0.5);
}

}  // namespace

Classification classify_above(std::span<const Point> points, const std::vector<std::string>& dimensions,
                              const std::string& metric, double threshold, bool logarithms, int folds) {
  const std::vector<const Point*> used = with_metric(points, metric);
  if (std::ssize(used) < folds)
    fail(ErrorKind::config, "analyze: {} points have '{}', {} folds need as many", used.size(), metric,
         folds);
  const stats::Matrix raw = feature_rows(used, dimensions, 1, logarithms);
  const stats::Matrix rows = with_ones(standardised(raw, scaling_of(raw)));
  std::vector<double> labels;
  for (const Point* point : used) labels.push_back(point->metric(metric) > threshold ? 1 : 0);
  Classification result{feature_names(dimensions, 1), fit(rows, labels), 0, 0, 0, 0, folds, used.size()};
  const std::vector<int> fold = stats::assign_folds(used.size(), folds, kLogisticSeed);
  std::vector<std::vector<double>> held_out;
  for (int f = 0; f < folds; ++f) {
    const auto [training, wanted] = training_rows(rows, labels, fold, f);
    held_out.push_back(fit(training, wanted));
  }
  const double each = 1 / static_cast<double>(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    result.base_rate += labels[i] * each;
    result.accuracy += is_right(rows.row(i), result.weights, labels[i]) ? each : 0;
    const bool right = is_right(rows.row(i), held_out[static_cast<std::size_t>(fold[i])], labels[i]);
    result.cross_validated_accuracy += right ? each : 0;
  }
  result.intercept = result.weights.back();
  result.weights.pop_back();
  return result;
}

}  // namespace trainyard::analyze
