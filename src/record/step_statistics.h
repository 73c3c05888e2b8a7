#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::record {

struct Interval {
  double low = 0, high = 0;

  double half_width() const { return (high - low) / 2; }
};

// PSC's four figures (specs: images per step B, step seconds t, speeds s = B / t), over every timed step.
struct LegacyMetrics {
  double mean_seconds = 0;       // mean(t)
  double mean_speed = 0;         // B / mean(t)
  double speed_uncertainty = 0;  // population sd(s) / sqrt(n)
  double speed_jitter = 0;       // 1.4826 * median |s - median(s)|
};

LegacyMetrics legacy_metrics(std::span<const double> step_seconds, double images_per_step);

// What the timed steps of one run say. All but `legacy` leave out the prefix before the steady state.
struct StepStatistics {
  std::int64_t steps = 0;           // timed steps given
  std::int64_t unsteady_steps = 0;  // of these, the prefix left out
  bool steady = true;               // false: it never settled, and nothing was left out
  double mean = 0, median = 0, min = 0, max = 0, standard_deviation = 0;
  double p5 = 0, p25 = 0, p75 = 0, p95 = 0, p99 = 0;  // p75 - p25 is the IQR
  double lag1_autocorrelation = 0, effective_samples = 0;
  std::int64_t block_steps = 0;             // block length of the bootstrap
  Interval mean_interval, median_interval;  // 95 %
  std::vector<std::int64_t> outliers;  // steps (counted from the first timed one), flagged, never deleted
  LegacyMetrics legacy;
};

// No steps: all zero.
StepStatistics describe_steps(std::span<const double> step_seconds, double images_per_step);

}  // namespace trainyard::record
