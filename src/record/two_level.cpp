#include "record/two_level.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "record/block_bootstrap.h"
#include "record/statistics.h"
#include "record/student_t.h"

namespace trainyard::record {
namespace {

constexpr int kMostRuns = 100'000;  // more than anybody will make

// REQUIRES: what is enough stays enough.
template <typename Enough>
int fewest_runs(const Enough& enough) {
  int low = 1, high = 2;
  while (high < kMostRuns && !enough(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

TwoLevel describe_runs(std::span<const std::vector<double>> runs) {
  TRAINYARD_CHECK(!runs.empty());
  std::vector<double> means;
  double step_squares = 0, step_freedom = 0, error_variance = 0;
  for (const std::vector<double>& run : runs) {
    const MeanError error = mean_error(run);
    const auto steps = static_cast<double>(run.size());
    means.push_back(mean(run));
    error_variance += error.standard_error * error.standard_error / static_cast<double>(runs.size());
    // Autocorrelated steps have lost more than one degree of freedom to their own mean.
    step_squares += population_variance(run) * steps;
    step_freedom += steps * (1 - 1 / error.effective_samples);
  }

  TwoLevel result;
  result.runs = static_cast<int>(means.size());
  result.mean = mean(means);
  result.olympic_mean = olympic_mean(means);
  result.within_variance = step_freedom > 0 ? step_squares / step_freedom : 0;
  // Moments: the variance of the runs' means is that between runs and what the steps leave uncertain.
  result.between_variance = std::max(sample_variance(means) - error_variance, 0.0);
  const double spread = std::sqrt(sample_variance(means));
  result.run_spread = spread / std::abs(result.mean);
  const double count = static_cast<double>(means.size());
  const double reach = means.size() > 1 ? t_quantile(0.975, count - 1) * spread / std::sqrt(count) : 0;
  result.interval = {result.mean - reach, result.mean + reach};
  return result;
}

int runs_for_half_width(double run_spread, double relative_half_width) {
  return fewest_runs([&](int runs) {
    return t_quantile(0.975, runs - 1) * run_spread / std::sqrt(runs) <= relative_half_width;
  });
}

int runs_for_effect(double run_spread, double effect, double minimum_effect, double power) {
  const double change = std::log1p(effect), least = std::log1p(minimum_effect);
  return fewest_runs([&](int runs) {
    const double error = run_spread * std::sqrt(2.0 / runs), freedom = 2.0 * runs - 2;
    const double certain = t_quantile(power, freedom);
    return change >= (t_quantile(1 - kAlarmLevel / 2, freedom) + certain) * error &&
           change - least >= certain * error;
  });
}

}  // namespace trainyard::record
