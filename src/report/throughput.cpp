#include "report/throughput.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "record/cell_summary.h"

namespace trainyard::report {

Throughput summarise_throughput(std::span<const record::RunRecord* const> runs) {
  Throughput result;
  std::vector<record::MeasuredRun> speeds;
  double jitter = 0;
  for (const record::RunRecord* run : runs) {
    if (!run->images_per_second || !std::isfinite(*run->images_per_second)) continue;
    if (!(*run->images_per_second > 0)) continue;
    speeds.push_back({run->node, *run->images_per_second});
    result.max = std::max(result.max, *run->images_per_second);
    const record::LegacyMetrics& legacy = run->statistics.legacy;
    if (legacy.mean_speed > 0) jitter += legacy.speed_jitter / legacy.mean_speed;
    result.steps += run->statistics.steps;
    result.unsteady_steps += run->statistics.unsteady_steps;
    result.never_steady += run->statistics.steady ? 0 : 1;
  }
  if (speeds.empty()) return result;
  const record::CellSummary summary = record::describe_cell(speeds);
  result.runs = summary.runs;
  result.median = summary.median;
  result.mean = summary.mean;
  result.interval = summary.interval;
  result.run_to_run = summary.run_spread;
  result.nodes = summary.nodes;
  result.within_nodes = summary.node_spread;
  result.by_node = summary.by_node;
  result.jitter = jitter / summary.runs;
  return result;
}

}  // namespace trainyard::report
