#include "record/node_effects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "record/statistics.h"
#include "record/student_t.h"

namespace trainyard::record {
namespace {

struct Sample {
  std::size_t cell;
  std::string node;
  double log_value;
};

// Cells on one node alone say nothing of nodes.
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

// Least squares for a table with gaps: levels of cells and of nodes are brought to the mean of what the other
// leaves, in turns, until nothing moves.
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
    about_cells += population_variance(logs) * static_cast<double>(logs.size());
  const auto count = static_cast<double>(samples.size());
  const double cell_freedom = count - static_cast<double>(by_cell.size());
  const double node_freedom = static_cast<double>(fit.nodes.size()) - 1,
               freedom = cell_freedom - node_freedom;
  effects.run_spread = std::sqrt(about_cells / cell_freedom);
  effects.node_spread = freedom > 0 ? std::sqrt(rest / freedom) : effects.run_spread;
  if (freedom > 0) {
    const double of_nodes = (about_cells - rest) / node_freedom, of_runs = rest / freedom;
    effects.differ = of_runs > 0 ? f_tail(of_nodes / of_runs, node_freedom, freedom) <= 0.05 : of_nodes > 0;
  }

  std::vector<double> levels;
  for (const auto& [name, level] : fit.nodes) levels.push_back(level);
  const double typical = median(levels);
  for (const auto& [name, level] : fit.nodes)
    effects.nodes.push_back({name, runs[name], std::exp(level - typical)});
  std::stable_sort(effects.nodes.begin(), effects.nodes.end(),
                   [](const auto& x, const auto& y) { return x.ratio < y.ratio; });
  return effects;
}

}  // namespace trainyard::record
