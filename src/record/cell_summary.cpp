#include "record/cell_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"
#include "record/order_interval.h"
#include "record/statistics.h"
#include "record/student_t.h"

namespace trainyard::record {
namespace {

// Logarithms by node: speeds are ratios, and no interval of theirs reaches below zero.
using Nodes = std::map<std::string, std::vector<double>>;

// Squares within nodes and between them, with their degrees of freedom.
struct Variances {
  double within = 0, within_freedom = 0, between = 0, between_freedom = 0;
};

Variances variances_of(const Nodes& nodes, double level) {
  Variances result;
  for (const auto& [name, logs] : nodes) {
    const auto count = static_cast<double>(logs.size());
    const double centre = mean(logs);
    result.within += population_variance(logs) * count;
    result.within_freedom += count - 1;
    result.between += count * (centre - level) * (centre - level);
  }
  result.between_freedom = static_cast<double>(nodes.size()) - 1;
  return result;
}

// True when chance within nodes would hardly part them so far (the F test at 5 %).
bool nodes_differ(const Variances& v) {
  if (v.between_freedom < 1 || v.within_freedom < 1) return false;
  if (v.within == 0) return v.between > 0;
  const double ratio = (v.between / v.between_freedom) / (v.within / v.within_freedom);
  return f_tail(ratio, v.between_freedom, v.within_freedom) <= 0.05;
}

}  // namespace

CellSummary describe_cell(std::span<const MeasuredRun> runs) {
  TRAINYARD_CHECK(!runs.empty());
  Nodes nodes;
  std::vector<double> values, logs;
  for (const MeasuredRun& run : runs) {
    values.push_back(run.value);
    logs.push_back(std::log(run.value));
    nodes[run.node].push_back(logs.back());
  }
  CellSummary result;
  result.runs = static_cast<int>(runs.size());
  result.nodes = static_cast<int>(nodes.size());
  result.mean = mean(values);
  result.run_spread = std::sqrt(sample_variance(values)) / result.mean;
  result.node_spread = result.run_spread;

  const Variances variances = variances_of(nodes, mean(logs));
  result.by_node = nodes_differ(variances);
  if (nodes.size() > 1 && variances.within_freedom > 0)
    result.node_spread = std::sqrt(variances.within / variances.within_freedom);
  if (result.by_node) {
    logs.clear();
    for (const auto& [name, of_node] : nodes) logs.push_back(median(of_node));
  }
  result.median = result.by_node ? std::exp(median(logs)) : median(values);
  result.interval = {result.median, result.median};
  if (logs.size() > 1) {
    const Interval interval = order_interval(logs);
    result.interval = {std::exp(interval.low), std::exp(interval.high)};
  }
  return result;
}

}  // namespace trainyard::record
