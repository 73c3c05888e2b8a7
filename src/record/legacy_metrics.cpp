#include <cmath>

#include "record/statistics.h"
#include "record/step_statistics.h"

namespace trainyard::record {

LegacyMetrics legacy_metrics(std::span<const double> step_seconds, double images_per_step) {
  if (step_seconds.empty()) return {};
  std::vector<double> speeds(step_seconds.begin(), step_seconds.end());
  for (double& value : speeds) value = images_per_step / value;
  const double mean_seconds = mean(step_seconds);
  return {mean_seconds, images_per_step / mean_seconds,
          std::sqrt(population_variance(speeds) / static_cast<double>(speeds.size())), scaled_mad(speeds)};
}

}  // namespace trainyard::record
