#include "analyze/op_breakdown.h"

#include "analyze/bursts.h"

namespace trainyard::analyze {

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

namespace {

constexpr double kPeakShare = 0.9;

LegacyShares shares_of(const Signal& signal, double capacity) {
  const std::vector<double> equal(signal.values.size(), 1.0);
  LegacyShares shares{"", 1, 0, 0};
  if (const std::optional<stats::TwoMeans> levels = stats::two_means(signal.values, equal)) {
    shares.burst = std::max(levels->high_share, 1 - levels->high_share);
    shares.idle = 1 - shares.burst;
  }
  const auto high = std::count_if(signal.values.begin(), signal.values.end(),
                                  [&](double value) { return value > kPeakShare * capacity; });
  shares.peak = static_cast<double>(high) / static_cast<double>(signal.values.size());
  return shares;
}

}  // namespace

std::vector<LegacyShares> legacy_shares(const record::ResourceTrace& trace, double gpu_memory_bytes) {
  constexpr struct {
    const char *column, *signal;
  } kColumns[] = {{"gpu_util", "gpu0_busy_fraction"},
                  {"gpu_memory_util", "gpu0_memory_busy_fraction"},
                  {"gpu_memory", "gpu0_memory_used_bytes"},
                  {"cpu_util", "machine_cpu_fraction"},
                  {"cpu_util", "cpu_cores"}};
  std::vector<LegacyShares> list;
  const std::vector<Signal> signals = signals_of(trace);
  for (const auto& column : kColumns)
    for (const Signal& signal : signals) {
      if (signal.name != column.signal) continue;
      list.push_back(shares_of(signal, signal.capacity.value_or(gpu_memory_bytes)));
      list.back().column = column.column;
    }
  return list;
}

}  // namespace trainyard::analyze
