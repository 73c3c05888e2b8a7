#include "analyze/logistic.h"

#include <cmath>

#include "analyze/regression.h"
#include "base/error.h"
#include "stats/least_squares.h"

namespace trainyard::analyze {
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
