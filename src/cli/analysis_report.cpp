#include "cli/analysis_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/units.h"
#include "cli/text_table.h"

namespace trainyard::cli {
namespace {

using analyze::Analysis;

constexpr std::size_t kMostFeatures = 6;  // of order two, the heaviest

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : ""; }

void print_points(const Analysis& analysis) {
  std::map<record::Status, std::size_t> counts;
  for (const analyze::Point& point : analysis.points) ++counts[point.status];
  std::string text;
  for (const auto& [status, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, record::name(status));
  fmt::print("{} points: {}\n", analysis.points.size(), text);
}

void print_regression(const analyze::Regression& regression, const std::string& title, std::size_t most) {
  std::vector<std::size_t> order(regression.weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(regression.weights[a]) > std::abs(regression.weights[b]);
  });
  TextTable table({title, "weight"});
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    table.add({regression.features[order[i]], fmt::format("{:.4f}", regression.weights[order[i]])});
  fmt::print("\n{}R2 {:.4f}, mean error {:.4f} deviations, {} points\n", table.text(), regression.r2,
             regression.mean_absolute_error, regression.points);
}

void print_regressions(const Analysis& analysis, const analyze::Part& part) {
  const std::string title = "of " + analysis.metric;
  if (part.first_order) print_regression(*part.first_order, title, part.dimensions.size());
  if (part.second_order) print_regression(*part.second_order, title + ", order 2", kMostFeatures);
  if (!part.power_law) return;
  std::string law;
  for (std::size_t i = 0; i < part.power_law->features.size(); ++i)
    law += fmt::format(" {}^{:.2f}", part.power_law->features[i], part.power_law->coefficients[i]);
  fmt::print("\n{} ~{}: R2 of logarithms {:.3f}, {:.3f} where held out\n", analysis.metric, law,
             part.power_law->r2, part.power_law->cross_validated_r2);
}

// One table over all panels: the best of each cell's.
void print_heat_map(const Analysis& analysis, const analyze::HeatMap& map) {
  std::vector<std::string> head{fmt::format("{} \\ {}", map.row, map.column)};
  for (const double column : map.columns) head.push_back(fmt::format("{}", column));
  TextTable table(head);
  for (const double row : map.rows) {
    std::vector<std::string> cells{fmt::format("{}", row)};
    for (const double column : map.columns) {
      double best = analyze::kUnknown;
      std::string otherwise = ".";
      for (const double panel : map.panels) {
        const analyze::HeatCell* cell = map.find(column, row, panel);
        if (cell == nullptr) continue;
        if (std::isfinite(cell->value) && !(cell->value <= best)) best = cell->value;
        if (cell->points == 0) otherwise = record::name(cell->status);
      }
      cells.push_back(!std::isfinite(best)           ? otherwise
                      : analysis.heat_is_utilisation ? fmt::format("{:.1f}", 100 * best)
                                                     : fmt::format("{:.4g}", best));
    }
    table.add(std::move(cells));
  }
  fmt::print("\n{}, the best of every {}:\n{}",
             analysis.heat_is_utilisation ? "Per cent of the arithmetic roof" : analysis.metric,
             map.panel.empty() ? "cell" : map.panel, table.text());
}

void print_roofs(const Analysis& analysis) {
  if (analysis.best)
    fmt::print("\nbest use of the arithmetic: {} at {}\n", percent(analysis.best->utilisation),
               record::to_text(analysis.best->point->keys));
  if (analysis.steps.empty()) return;
  fmt::print("below the ridge of {:.1f} flops a byte: {} of {} steps, {} of {} kinds of op\n",
             analysis.roofs.ridge(), analyze::count_below_ridge(analysis.steps), analysis.steps.size(),
             analyze::count_below_ridge(analysis.ops), analysis.ops.size());
}

void print_categories(const Analysis& analysis) {
  TextTable table({"op", "time", "of the roof while running", "points"});
  for (const analyze::CategoryShare& share : analysis.categories)
    table.add({share.category, percent(share.time_fraction), percent(share.peak_fraction),
               fmt::format("{}", share.points)});
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

void print_limits(const Analysis& analysis) {
  TextTable table({"limited by", "launch", "bandwidth", "compute", "host", "model's error"});
  for (const analyze::LimitedGroup& group : analysis.limits) {
    auto counts = analyze::count_limits({&group, 1});
    std::vector<std::string> row{group.name};
    for (const analyze::Limit limit :
         {analyze::Limit::launch, analyze::Limit::bandwidth, analyze::Limit::compute, analyze::Limit::host})
      row.push_back(fmt::format("{}", counts[limit]));
    row.push_back(group.fitted > 0 ? percent(group.mean_relative_error) : "no model");
    table.add(std::move(row));
  }
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

std::vector<std::string> ratio_row(const std::string& name, const analyze::RatioSummary& summary) {
  return {name,
          fmt::format("{}", summary.points),
          fmt::format("{:.3f}", summary.mean),
          fmt::format("{:.3f}", summary.median),
          fmt::format("{:.3f}", summary.geometric_mean),
          fmt::format("{:.3f}", summary.min),
          fmt::format("{:.3f}", summary.max),
          percent(summary.below_one)};
}

}  // namespace

void print_analysis(const Analysis& analysis) {
  print_points(analysis);
  for (const analyze::Part& part : analysis.parts) {
    if (!part.name.empty()) fmt::print("\n{}: {} points\n", part.name, part.points);
    print_regressions(analysis, part);
    if (part.heat_map) print_heat_map(analysis, *part.heat_map);
  }
  print_roofs(analysis);
  print_categories(analysis);
  print_limits(analysis);
}

void print_comparison(const analyze::SystemComparison& comparison, const record::Comparison& verdicts) {
  TextTable table({comparison.metric + " of B over A", "points", "mean", "median", "geometric mean", "min",
                   "max", "below 1"});
  table.add(ratio_row("all", comparison.all));
  for (const auto& [dimension, values] : comparison.by_dimension)
    for (const auto& [value, summary] : values)
      table.add(ratio_row(fmt::format("{} {}", dimension, value), summary));
  fmt::print("\n{}", table.text());
  if (comparison.weights)
    print_regression(*comparison.weights, "of the ratio", comparison.weights->weights.size());
  if (comparison.faster)
    fmt::print("\nB is ahead in {} of the points; a logistic fit tells where with {} held out\n",
               percent(comparison.faster->base_rate), percent(comparison.faster->cross_validated_accuracy));
  fmt::print("\nwith intervals: {} faster, {} slower, {} same, {} unclear (trainyard compare lists them)\n",
             verdicts.count(record::Outcome::better), verdicts.count(record::Outcome::worse),
             verdicts.count(record::Outcome::same), verdicts.count(record::Outcome::unclear));
}

}  // namespace trainyard::cli
