#include "analyze/analysis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "analyze/features.h"
#include "base/error.h"
#include "base/nearest_name.h"

namespace trainyard::analyze {
namespace {

constexpr std::array kUsualMetrics = {"flops_per_second", "peak_fraction", "images_per_second"};
constexpr int kFolds = 10;

std::string usual_metric(const std::vector<std::string>& there_are) {
  for (const char* name : kUsualMetrics)
    if (std::find(there_are.begin(), there_are.end(), name) != there_are.end()) return name;
  return there_are.empty() ? "images_per_second" : there_are.front();
}

void require(const char* option, const std::string& name, const std::vector<std::string>& there_are) {
  if (std::find(there_are.begin(), there_are.end(), name) == there_are.end())
    fail(ErrorKind::usage, "{} '{}'{}: the points have {}", option, name, did_you_mean(name, there_are),
         there_are.empty() ? "none" : fmt::format("{}", fmt::join(there_are, ", ")));
}

// Numbers of any key: what a regression can take, even where it does not vary.
std::vector<std::string> numeric_keys(std::span<const Point> points) {
  std::set<std::string> names;
  for (const Point& point : points)
    for (const auto& [name, value] : point.keys)
      if (std::isfinite(record::number_or(value, kUnknown))) names.insert(name);
  return {names.begin(), names.end()};
}

bool are_positive(std::span<const Point> points, const std::vector<std::string>& dimensions) {
  return std::all_of(points.begin(), points.end(), [&](const Point& point) {
    return !point.ok() || std::all_of(dimensions.begin(), dimensions.end(),
                                      [&](const std::string& name) { return point.key(name) > 0; });
  });
}

void add_regressions(Analysis& analysis) {
  const std::size_t known = with_metric(analysis.points, analysis.metric).size();
  const std::size_t features = feature_names(analysis.dimensions, 2).size();
  if (analysis.dimensions.empty() || known <= analysis.dimensions.size()) return;
  analysis.first_order = standardised_weights(analysis.points, analysis.dimensions, analysis.metric, 1);
  if (known > features)
    analysis.second_order = standardised_weights(analysis.points, analysis.dimensions, analysis.metric, 2);
  const bool suits = are_positive(analysis.points, analysis.dimensions);
  if (suits && known >= std::max<std::size_t>(kFolds, 2 * analysis.dimensions.size()))
    analysis.power_law = fit_power_law(analysis.points, analysis.dimensions, analysis.metric, 1, kFolds);
}

void add_heat_map(Analysis& analysis) {
  if (dimensions_of(analysis.points).size() < 2) return;
  const auto used = [&](const Point& point) { return utilisation(point, analysis.roofs); };
  analysis.heat_is_utilisation =
      std::any_of(analysis.points.begin(), analysis.points.end(),
                  [&](const Point& point) { return point.ok() && std::isfinite(used(point)); });
  const std::function<double(const Point&)> value =
      analysis.heat_is_utilisation ? std::function<double(const Point&)>(used)
                                   : [&](const Point& point) { return point.metric(analysis.metric); };
  analysis.heat_map = make_heat_map(analysis.points, dimensions_of(analysis.points), value);
}

}  // namespace

Analysis analyse(std::vector<Point> points, const AnalysisOptions& options) {
  Analysis analysis;
  analysis.points = std::move(points);
  const std::vector<std::string> metrics = metrics_of(analysis.points);
  analysis.metric = options.metric.empty() ? usual_metric(metrics) : options.metric;
  if (!options.metric.empty()) require("--metric", options.metric, metrics);
  for (const std::string& name : options.dimensions)
    require("--dimensions", name, numeric_keys(analysis.points));
  analysis.dimensions = options.dimensions.empty() ? dimensions_of(analysis.points) : options.dimensions;
  analysis.roofs = find_roofs(analysis.points, options.roofs);
  add_regressions(analysis);
  add_heat_map(analysis);
  analysis.best = best_utilisation(analysis.points, analysis.roofs);
  analysis.steps = model_roofline(analysis.points, analysis.roofs);
  analysis.ops = op_roofline(analysis.points, analysis.roofs);
  analysis.categories = break_down(analysis.points);
  analysis.limits = find_limits(analysis.points, analysis.roofs);
  return analysis;
}

SystemComparison compare_systems(std::span<const Point> a, std::span<const Point> b,
                                 const std::string& metric, std::set<std::string> across) {
  SystemComparison comparison{metric, std::move(across), {}, {}, {}, {}, {}};
  comparison.across.merge(keys_apart(a, b));
  comparison.joined = join_points(a, b, metric, comparison.across);
  if (comparison.joined.empty())
    fail(ErrorKind::config, "analyze: no point with '{}' is on both sides; they may differ in {}", metric,
         comparison.across.empty() ? "nothing" : fmt::format("{}", fmt::join(comparison.across, ", ")));
  comparison.all = summarise_ratios(comparison.joined);
  const std::vector<Point> ratios = ratio_points(comparison.joined);
  const std::vector<std::string> dimensions = dimensions_of(ratios);
  for (const std::string& dimension : dimensions)
    comparison.by_dimension[dimension] = ratios_by(comparison.joined, dimension);
  if (!dimensions.empty() && ratios.size() > dimensions.size())
    comparison.weights = standardised_weights(ratios, dimensions, "speedup", 1);
  if (!dimensions.empty() && ratios.size() >= 2 * kFolds)
    comparison.faster =
        classify_above(ratios, dimensions, "speedup", 1, are_positive(ratios, dimensions), kFolds);
  return comparison;
}

}  // namespace trainyard::analyze
