#include "record/step_statistics.h"

#include <algorithm>
#include <cmath>

#include "record/autoregression.h"
#include "record/block_bootstrap.h"
#include "record/statistics.h"
#include "record/steady_state.h"

namespace trainyard::record {

StepStatistics describe_steps(std::span<const double> step_seconds, double images_per_step) {
  StepStatistics result;
  result.steps = static_cast<std::int64_t>(step_seconds.size());
  if (step_seconds.empty()) return result;
  result.legacy = legacy_metrics(step_seconds, images_per_step);

  const SteadyState state = find_steady_state(step_seconds);
  result.unsteady_steps = state.unsteady_steps;
  result.steady = state.steady;
  const auto kept = step_seconds.subspan(static_cast<std::size_t>(state.unsteady_steps));

  const std::vector<double> sorted = sorted_copy(kept);
  result.mean = mean(kept);
  result.median = quantile_of_sorted(sorted, 0.5);
  result.min = sorted.front();
  result.max = sorted.back();
  result.standard_deviation = std::sqrt(sample_variance(kept));
  result.p5 = quantile_of_sorted(sorted, 0.05);
  result.p25 = quantile_of_sorted(sorted, 0.25);
  result.p75 = quantile_of_sorted(sorted, 0.75);
  result.p95 = quantile_of_sorted(sorted, 0.95);
  result.p99 = quantile_of_sorted(sorted, 0.99);

  const MeanError error = mean_error(kept);
  result.lag1_autocorrelation = lag1_autocorrelation(kept);
  result.effective_samples = error.effective_samples;
  result.block_steps = error.block_steps;
  result.mean_interval = mean_interval(kept);
  // Few steps and one long stall would put its lower end below zero, where no step is.
  result.mean_interval.low = std::max(result.mean_interval.low, result.min);
  result.median_interval = median_interval(kept);
  result.outliers = find_outliers(kept);
  for (std::int64_t& step : result.outliers) step += state.unsteady_steps;
  return result;
}

}  // namespace trainyard::record
