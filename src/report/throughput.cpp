#include "report/throughput.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "record/statistics.h"
#include "record/two_level.h"

namespace trainyard::report {

Throughput summarise_throughput(std::span<const record::RunRecord* const> runs) {
  Throughput result;
  std::vector<double> speeds;
  double jitter = 0;
  for (const record::RunRecord* run : runs) {
    if (!run->images_per_second || !std::isfinite(*run->images_per_second)) continue;
    speeds.push_back(*run->images_per_second);
    const record::LegacyMetrics& legacy = run->statistics.legacy;
    if (legacy.mean_speed > 0) jitter += legacy.speed_jitter / legacy.mean_speed;
    result.steps += run->statistics.steps;
    result.unsteady_steps += run->statistics.unsteady_steps;
    result.never_steady += run->statistics.steady ? 0 : 1;
  }
  if (speeds.empty()) return result;
  // A run is one sample here, whatever its number of steps.
  std::vector<std::vector<double>> samples;
  for (const double speed : speeds) samples.push_back({speed});
  const record::TwoLevel level = record::describe_runs(samples);
  result.runs = level.runs;
  result.mean = level.mean;
  result.interval = level.interval;
  result.run_to_run = level.run_spread;
  result.median = record::quantile(speeds, 0.5);
  result.max = *std::max_element(speeds.begin(), speeds.end());
  result.jitter = jitter / level.runs;
  return result;
}

}  // namespace trainyard::report
