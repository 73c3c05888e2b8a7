#include "record/cell_summary.h"

#include "base/error.h"

namespace trainyard::record {

namespace {

struct Sample {
  std::size_t cell;
  std::string node;
  double log_value;
};

// Cells that ran on one node alone tell nothing about nodes.
std::vector<Sample> samples_of(std::span<const std::vector<MeasuredRun>> cells) {
  std::vector<Sample> samples;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    std::set<std::string> nodes;
    for (const MeasuredRun& run : cells[cell]) nodes.insert(run.node);
    if (nodes.size() < 2) continue;
    for (const MeasuredRun& run : cells[cell]) samples.push_back({cell, run.node, std::log(run.value)});
  }
  return samples;
}

// Fit is least squares for a table with gaps: it sets levels of cells and of nodes in turn to the mean of the
// other's residuals, until nothing moves.
struct Fit {
  std::map<std::size_t, double> cells;
  std::map<std::string, double> nodes;

  double residual(const Sample& sample) const {
    return sample.log_value - cells.at(sample.cell) - nodes.at(sample.node);
  }
};

template <typename Levels, typename KeyOf>
double update(Levels& levels, const Fit& fit, std::span<const Sample> samples, const KeyOf& key_of) {
  std::map<typename Levels::key_type, std::pair<double, double>> sums;
  for (const Sample& sample : samples) {
    auto& [sum, count] = sums[key_of(sample)];
    sum += fit.residual(sample);
    count += 1;
  }
  double moved = 0;
  for (const auto& [key, sum] : sums) {
    const double step = sum.first / sum.second;
    levels[key] += step;
    moved = std::max(moved, std::abs(step));
  }
  return moved;
}

Fit fit_levels(std::span<const Sample> samples) {
  Fit fit;
  for (const Sample& sample : samples) fit.cells[sample.cell] = fit.nodes[sample.node] = 0;
  constexpr int kMostRounds = 10'000;
  constexpr double kStill = 1e-12;
  for (int round = 0; round < kMostRounds; ++round) {
    const double cells = update(fit.cells, fit, samples, [](const Sample& s) { return s.cell; });
    const double nodes = update(fit.nodes, fit, samples, [](const Sample& s) { return s.node; });
    if (std::max(cells, nodes) < kStill) break;
  }
  return fit;
}

}  // namespace

NodeEffects find_node_effects(std::span<const std::vector<MeasuredRun>> cells) {
  NodeEffects effects;
  const std::vector<Sample> samples = samples_of(cells);
  if (samples.empty()) return effects;
  const Fit fit = fit_levels(samples);

  std::map<std::size_t, std::vector<double>> by_cell;
  std::map<std::string, int> runs;
  double rest = 0;
  for (const Sample& sample : samples) {
    by_cell[sample.cell].push_back(sample.log_value);
    ++runs[sample.node];
    rest += fit.residual(sample) * fit.residual(sample);
  }
  double about_cells = 0;
  for (const auto& [cell, logs] : by_cell)
    about_cells += stats::population_variance(logs) * static_cast<double>(logs.size());
  const auto count = static_cast<double>(samples.size());
  const double cell_freedom = count - static_cast<double>(by_cell.size());
  const double node_freedom = static_cast<double>(fit.nodes.size()) - 1,
               freedom = cell_freedom - node_freedom;
  effects.run_spread = std::sqrt(about_cells / cell_freedom);
  effects.node_spread = freedom > 0 ? std::sqrt(rest / freedom) : effects.run_spread;
  if (freedom > 0) {
    const double of_nodes = (about_cells - rest) / node_freedom, of_runs = rest / freedom;
    effects.differ =
        of_runs > 0 ? stats::f_tail(of_nodes / of_runs, node_freedom, freedom) <= 0.05 : of_nodes > 0;
  }

  std::vector<double> levels;
  for (const auto& [name, level] : fit.nodes) levels.push_back(level);
  const double typical = stats::median(levels);
  for (const auto& [name, level] : fit.nodes)
    effects.nodes.push_back({name, runs[name], std::exp(level - typical)});
  std::stable_sort(effects.nodes.begin(), effects.nodes.end(),
                   [](const auto& x, const auto& y) { return x.ratio < y.ratio; });
  return effects;
}

namespace {

// Nodes holds logarithms by node: speeds are ratios, and no interval of theirs reaches below zero.
using Nodes = std::map<std::string, std::vector<double>>;

// Variances holds squares within nodes and between them, with their degrees of freedom.
struct Variances {
  double within = 0, within_freedom = 0, between = 0, between_freedom = 0;
};

Variances variances_of(const Nodes& nodes, double level) {
  Variances result;
  for (const auto& [name, logs] : nodes) {
    const auto count = static_cast<double>(logs.size());
    const double centre = stats::mean(logs);
    result.within += stats::population_variance(logs) * count;
    result.within_freedom += count - 1;
    result.between += count * (centre - level) * (centre - level);
  }
  result.between_freedom = static_cast<double>(nodes.size()) - 1;
  return result;
}

// Returns true when random variation within nodes would hardly separate them so far (the F test at 5 %).
bool nodes_differ(const Variances& v) {
  if (v.between_freedom < 1 || v.within_freedom < 1) return false;
  if (v.within == 0) return v.between > 0;
  const double ratio = (v.between / v.between_freedom) / (v.within / v.within_freedom);
  return stats::f_tail(ratio, v.between_freedom, v.within_freedom) <= 0.05;
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
  result.mean = stats::mean(values);
  result.run_spread = std::sqrt(stats::sample_variance(values)) / result.mean;
  result.node_spread = result.run_spread;

  const Variances variances = variances_of(nodes, stats::mean(logs));
  result.by_node = nodes_differ(variances);
  if (nodes.size() > 1 && variances.within_freedom > 0)
    result.node_spread = std::sqrt(variances.within / variances.within_freedom);
  if (result.by_node) {
    logs.clear();
    for (const auto& [name, of_node] : nodes) logs.push_back(stats::median(of_node));
  }
  result.median = result.by_node ? std::exp(stats::median(logs)) : stats::median(values);
  result.interval = {result.median, result.median};
  if (logs.size() > 1) {
    const stats::Interval interval = stats::order_interval(logs);
    result.interval = {std::exp(interval.low), std::exp(interval.high)};
  }
  return result;
}

}  // namespace trainyard::record
