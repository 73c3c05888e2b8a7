#include "analyze/speedup.h"

namespace trainyard::analyze {
namespace {

record::Settings without(record::Settings keys, const std::set<std::string>& names) {
  for (const std::string& name : names) keys.erase(name);
  return keys;
}

std::map<std::string, std::set<record::Value>> values_of(std::span<const Point> points) {
  std::map<std::string, std::set<record::Value>> values;
  for (const Point& point : points)
    if (point.ok())
      for (const auto& [name, value] : point.keys) values[name].insert(value);
  return values;
}

}  // namespace

std::vector<JoinedPoint> join_points(std::span<const Point> a, std::span<const Point> b,
                                     const std::string& metric, const std::set<std::string>& across) {
  std::map<record::Settings, const Point*> of_b;
  for (const Point* point : with_metric(b, metric)) of_b.emplace(without(point->keys, across), point);
  std::vector<JoinedPoint> joined;
  for (const Point* point : with_metric(a, metric)) {
    const auto found = of_b.find(without(point->keys, across));
    if (found == of_b.end() || !(point->metric(metric) > 0)) continue;
    joined.push_back({point, found->second, found->second->metric(metric) / point->metric(metric)});
  }
  return joined;
}

std::set<std::string> keys_apart(std::span<const Point> a, std::span<const Point> b) {
  const auto of_a = values_of(a), of_b = values_of(b);
  std::set<std::string> apart;
  for (const auto* side : {&of_a, &of_b})
    for (const auto& [name, values] : *side) {
      const auto mine = of_a.find(name), theirs = of_b.find(name);
      const bool share =
          mine != of_a.end() && theirs != of_b.end() &&
          std::any_of(mine->second.begin(), mine->second.end(),
                      [&](const record::Value& value) { return theirs->second.contains(value); });
      if (!share) apart.insert(name);
    }
  return apart;
}

RatioSummary summarise_ratios(std::span<const JoinedPoint> joined) {
  TRAINYARD_CHECK(!joined.empty());
  std::vector<double> ratios, logarithms;
  for (const JoinedPoint& point : joined) {
    ratios.push_back(point.ratio);
    logarithms.push_back(std::log(point.ratio));
  }
  const auto below = std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
  return {joined.size(),
          stats::mean(ratios),
          stats::median(ratios),
          *std::min_element(ratios.begin(), ratios.end()),
          *std::max_element(ratios.begin(), ratios.end()),
          std::exp(stats::mean(logarithms)),
          static_cast<double>(below) / static_cast<double>(ratios.size())};
}

std::map<double, RatioSummary> ratios_by(std::span<const JoinedPoint> joined, const std::string& dimension) {
  std::map<double, std::vector<JoinedPoint>> groups;
  for (const JoinedPoint& point : joined)
    if (const double value = point.a->key(dimension); std::isfinite(value)) groups[value].push_back(point);
  std::map<double, RatioSummary> summaries;
  for (const auto& [value, group] : groups) summaries[value] = summarise_ratios(group);
  return summaries;
}

std::vector<Point> ratio_points(std::span<const JoinedPoint> joined) {
  std::vector<Point> points;
  for (const JoinedPoint& one : joined) {
    points.push_back(*one.a);
    points.back().metrics["speedup"] = one.ratio;
  }
  return points;
}

}  // namespace trainyard::analyze
