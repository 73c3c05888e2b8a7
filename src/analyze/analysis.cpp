#include "analyze/analysis.h"

#include "base/text.h"

namespace trainyard::analyze {

namespace {

constexpr std::array kPreferred = {"batch", "width", "layers"};

std::vector<std::string> chosen(const std::vector<std::string>& dimensions) {
  std::vector<std::string> result;
  const auto add = [&](const std::string& name) {
    const bool is_there = std::find(dimensions.begin(), dimensions.end(), name) != dimensions.end();
    if (is_there && std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
  };
  for (const char* name : kPreferred) add(name);
  for (const std::string& name : dimensions) add(name);
  return result;
}

struct Fallen {
  std::vector<double> values;
  int failed = 0;
  record::Status status = record::Status::ok;
};

}  // namespace

const HeatCell* HeatMap::find(double wanted_column, double wanted_row, double wanted_panel) const {
  for (const HeatCell& cell : cells)
    if (cell.column == wanted_column && cell.row == wanted_row && cell.panel == wanted_panel) return &cell;
  return nullptr;
}

HeatMap make_heat_map(std::span<const Point> points, const std::vector<std::string>& dimensions,
                      const std::function<double(const Point&)>& value) {
  const std::vector<std::string> names = chosen(dimensions);
  if (names.size() < 2)
    fail(ErrorKind::config, "analyze: a heat map wants two settings that vary, there are {}", names.size());
  HeatMap map;
  map.column = names[0];
  map.row = names[1];
  map.panel = names.size() > 2 ? names[2] : "";
  if (names.size() > 3) map.merged.assign(names.begin() + 3, names.end());
  std::map<std::array<double, 3>, Fallen> fallen;
  std::set<double> columns, rows, panels;
  for (const Point& point : points) {
    const std::array<double, 3> place{point.key(map.panel.empty() ? map.column : map.panel),
                                      point.key(map.row), point.key(map.column)};
    if (!std::all_of(place.begin(), place.end(), [](double at) { return std::isfinite(at); })) continue;
    Fallen& here = fallen[{map.panel.empty() ? 0 : place[0], place[1], place[2]}];
    if (const double held = point.ok() ? value(point) : kUnknown; std::isfinite(held)) {
      here.values.push_back(held);
    } else {
      ++here.failed;
      if (here.status != record::Status::oom)
        here.status = point.status;  // memory is the reason one looks for
    }
  }
  for (const auto& [place, here] : fallen) {
    const auto& [panel, row, column] = place;
    columns.insert(column);
    rows.insert(row);
    panels.insert(panel);
    const bool has_value = !here.values.empty();
    map.cells.push_back({column, row, panel, has_value ? stats::median(here.values) : kUnknown,
                         static_cast<int>(here.values.size()), here.failed,
                         has_value ? record::Status::ok : here.status});
  }
  map.columns.assign(columns.begin(), columns.end());
  map.rows.assign(rows.begin(), rows.end());
  map.panels.assign(panels.begin(), panels.end());
  return map;
}

namespace {

constexpr std::array kUsualMetrics = {"flops_per_second", "peak_fraction", "images_per_second"};
constexpr int kFolds = 10;

std::string usual_metric(const std::vector<std::string>& there_are) {
  for (const char* name : kUsualMetrics)
    if (std::find(there_are.begin(), there_are.end(), name) != there_are.end()) return name;
  return there_are.empty() ? "images_per_second" : there_are.front();
}

void require(const char* setting, const std::string& name, const std::vector<std::string>& there_are) {
  if (std::find(there_are.begin(), there_are.end(), name) == there_are.end())
    fail(ErrorKind::usage, "{} '{}'{}: the points have {}", Setting{setting}, name,
         did_you_mean(name, there_are), there_are.empty() ? "none" : joined(there_are, ", "));
}

// Lists every key that holds numbers. A regression can take such a key even where it does not vary.
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

void add_regressions(const std::vector<Point>& points, const std::string& metric, Part& part) {
  const std::size_t known = with_metric(points, metric).size();
  if (part.dimensions.empty() || known <= part.dimensions.size()) return;
  part.first_order = standardised_weights(points, part.dimensions, metric, 1);
  if (known > feature_names(part.dimensions, 2).size())
    part.second_order = standardised_weights(points, part.dimensions, metric, 2);
  const bool suits = are_positive(points, part.dimensions);
  if (suits && known >= std::max<std::size_t>(kFolds, 2 * part.dimensions.size()))
    part.power_law = fit_power_law(points, part.dimensions, metric, 1, kFolds);
}

bool is_word(const record::Value& value) { return !std::isfinite(record::number_or(value, kUnknown)); }

// Lists the text keys that have several values among the points that went well. A key that only failed runs
// have, such as a backend that was never chosen, tells no points apart.
std::set<std::string> telling_words(std::span<const Point> points) {
  std::map<std::string, std::set<std::string>> values;
  for (const Point& point : points)
    if (point.ok())
      for (const auto& [name, value] : point.keys)
        if (is_word(value)) values[name].insert(record::to_text(value));
  std::set<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1) names.insert(name);
  return names;
}

std::map<std::string, std::vector<Point>> split_by_words(std::span<const Point> points) {
  const std::set<std::string> words = telling_words(points);
  std::map<std::string, std::vector<Point>> parts;
  for (const Point& point : points) {
    std::string name;
    for (const std::string& word : words)
      if (const auto found = point.keys.find(word); found != point.keys.end())
        name += (name.empty() ? "" : ", ") + record::to_text(found->second);
    parts[name].push_back(point);
  }
  return parts;
}

Part make_part(const std::string& name, const std::vector<Point>& points, const Analysis& analysis,
               const AnalysisOptions& options) {
  Part part;
  part.name = name;
  part.points = points.size();
  const std::vector<std::string> varying = dimensions_of(points), keys = numeric_keys(points);
  const bool has_all = std::all_of(
      options.dimensions.begin(), options.dimensions.end(),
      [&](const std::string& wanted) { return std::find(keys.begin(), keys.end(), wanted) != keys.end(); });
  part.dimensions = options.dimensions.empty() || !has_all ? varying : options.dimensions;
  add_regressions(points, analysis.metric, part);
  if (varying.size() >= 2)
    part.heat_map = make_heat_map(points, varying, [&](const Point& point) {
      return analysis.heat_is_utilisation ? utilisation(point, analysis.roofs)
                                          : point.metric(analysis.metric);
    });
  return part;
}

}  // namespace

Analysis analyse(std::vector<Point> points, const AnalysisOptions& options) {
  Analysis analysis;
  analysis.points = std::move(points);
  const std::vector<std::string> metrics = metrics_of(analysis.points);
  analysis.metric = options.metric.empty() ? usual_metric(metrics) : options.metric;
  if (!options.metric.empty()) require("metric", options.metric, metrics);
  for (const std::string& name : options.dimensions)
    require("dimensions", name, numeric_keys(analysis.points));
  analysis.roofs = find_roofs(analysis.points, options.roofs);
  analysis.best = best_utilisation(analysis.points, analysis.roofs);
  analysis.heat_is_utilisation = analysis.best.has_value();
  for (const auto& [name, members] : split_by_words(analysis.points))
    analysis.parts.push_back(make_part(name, members, analysis, options));
  analysis.steps = model_roofline(analysis.points, analysis.roofs);
  analysis.ops = op_roofline(analysis.points, analysis.roofs);
  analysis.categories = break_down(analysis.points, analysis.roofs);
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
         comparison.across.empty() ? "nothing" : joined(comparison.across, ", "));
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
