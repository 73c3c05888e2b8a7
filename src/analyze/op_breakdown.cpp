#include "analyze/op_breakdown.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace trainyard::analyze {

namespace {

using Json = nlohmann::json;

double number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double peak_fraction_of(const OpCategory& category, double roof) {
  if (std::isfinite(category.peak_fraction)) return category.peak_fraction;
  const bool can_be_told = roof > 0 && category.flops > 0 && category.seconds > 0;
  return can_be_told ? category.flops / category.seconds / roof : std::numeric_limits<double>::quiet_NaN();
}

std::vector<OpCategory> op_categories_of(const record::RunRecord& run) {
  const auto detail = run.details.find("ops");
  if (detail == run.details.end()) return {};
  const Json ops = Json::parse(detail->second, nullptr, false);
  const auto list = ops.is_object() ? ops.find("by_category") : ops.end();
  if (list == ops.end() || !list->is_array()) return {};
  const double step = run.statistics.steps > 0 ? run.statistics.median
                      : run.images_per_second  ? run.images_per_step / *run.images_per_second
                                               : std::numeric_limits<double>::quiet_NaN();
  std::vector<OpCategory> categories;
  for (const Json& row : *list) {
    if (!row.is_object() || !row.contains("category") || !row["category"].is_string()) continue;
    categories.push_back({row["category"].get<std::string>(), number_at(row, "share"),
                          number_at(row, "seconds"), number_at(row, "flops"), number_at(row, "bytes"),
                          number_at(row, "peak_fraction"), number_at(row, "count")});
    OpCategory& category = categories.back();
    if (!std::isfinite(category.seconds)) category.seconds = category.time_fraction * step;
  }
  return categories;
}

namespace {

struct Sums {
  double time_fraction = 0, peak_fraction = 0, flops = 0, bytes = 0;
  std::size_t points = 0, with_peak = 0;
};

double or_zero(double value) { return std::isfinite(value) ? value : 0; }

std::vector<CategoryShare> shares_of(const std::vector<const Point*>& points, const Roofs& roofs) {
  std::map<std::string, Sums> sums;
  for (const Point* point : points)
    for (const OpCategory& category : point->ops) {
      if (category.name == kLoopCategory) continue;
      Sums& sum = sums[category.name];
      sum.time_fraction += or_zero(category.time_fraction);
      sum.flops += or_zero(category.flops);
      sum.bytes += or_zero(category.bytes);
      ++sum.points;
      const double used = peak_fraction_of(category, roofs.flops_per_second);
      if (!std::isfinite(used)) continue;
      sum.peak_fraction += used;
      ++sum.with_peak;
    }
  std::vector<CategoryShare> shares;
  for (const auto& [name, sum] : sums)
    shares.push_back({name, sum.time_fraction / static_cast<double>(points.size()),
                      sum.with_peak > 0 ? sum.peak_fraction / static_cast<double>(sum.with_peak) : kUnknown,
                      sum.flops, sum.bytes, sum.points});
  std::stable_sort(shares.begin(), shares.end(), [](const CategoryShare& a, const CategoryShare& b) {
    return a.time_fraction > b.time_fraction;
  });
  return shares;
}

}  // namespace

std::vector<CategoryShare> break_down(std::span<const Point> points, const Roofs& roofs) {
  std::vector<const Point*> broken;
  for (const Point& point : points)
    if (!point.ops.empty()) broken.push_back(&point);
  return shares_of(broken, roofs);
}

std::map<double, std::vector<CategoryShare>> break_down_by(std::span<const Point> points,
                                                           const std::string& dimension, const Roofs& roofs) {
  std::map<double, std::vector<const Point*>> groups;
  for (const Point& point : points)
    if (const double value = point.key(dimension); !point.ops.empty() && std::isfinite(value))
      groups[value].push_back(&point);
  std::map<double, std::vector<CategoryShare>> shares;
  for (const auto& [value, group] : groups) shares[value] = shares_of(group, roofs);
  return shares;
}

}  // namespace trainyard::analyze
