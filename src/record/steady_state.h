#pragma once

#include "stats/statistics.h"

namespace trainyard::record {

struct SteadyState {
  std::int64_t unsteady_steps = 0;  // length of the prefix to leave out
  bool steady = true;               // false: never settled; then nothing is to be left out
};

// Finds the end of the warm-up in a series of step seconds. The series is cut into levels, and those levels
// at its start that never come back are warm-up: a decay, a first slow step, but also a plateau as stable as
// the levels after it. Single slow steps and a temporary disturbance are not. Series of fewer than eight
// steps keep all of them.
SteadyState find_steady_state(std::span<const double> step_seconds);

// LegacyMetrics holds PSC's four figures (specs: images per step B, step seconds t, speeds s = B / t), over
// every timed step.
struct LegacyMetrics {
  double mean_seconds = 0;       // mean(t)
  double mean_speed = 0;         // B / mean(t)
  double speed_uncertainty = 0;  // population sd(s) / sqrt(n)
  double speed_jitter = 0;       // 1.4826 * median |s - median(s)|
};

LegacyMetrics legacy_metrics(std::span<const double> step_seconds, double images_per_step);

// StepStatistics summarises the timed steps of one run. All fields except `legacy` leave out the prefix
// before the steady state.
struct StepStatistics {
  std::int64_t steps = 0;           // timed steps given
  std::int64_t unsteady_steps = 0;  // of these, the prefix left out
  bool steady = true;               // false: it never settled, and nothing was left out
  double mean = 0, median = 0, min = 0, max = 0, standard_deviation = 0;
  double p5 = 0, p25 = 0, p75 = 0, p95 = 0, p99 = 0;  // p75 - p25 is the IQR
  double lag1_autocorrelation = 0, effective_samples = 0;
  std::int64_t block_steps = 0;                    // block length of the bootstrap
  stats::Interval mean_interval, median_interval;  // 95 %
  std::vector<std::int64_t> outliers;  // steps (counted from the first timed one), flagged, never deleted
  LegacyMetrics legacy;
};

// Without steps all fields are zero.
StepStatistics describe_steps(std::span<const double> step_seconds, double images_per_step);

struct StoppingLimits {
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  double max_seconds = std::numeric_limits<double>::infinity();  // of the steps together
  double relative_half_width = 0;  // of the mean's 95 % interval; 0: its width never ends the run
};

enum class Stopping {
  steps,       // stop: max_steps
  seconds,     // stop: max_seconds
  width,       // stop: the interval is narrow enough
  too_few,     // go on: too few steps to judge
  not_steady,  // go on: no steady state yet
  too_wide,    // go on: the interval is too wide
};

const char* name(Stopping state);

// StoppingRule tells after every step whether to time another one. It looks at the interval on a growing
// schedule, each time after a quarter more steps: a step costs some microseconds on average, and few looks
// keep the probability small that one of them is narrow by luck.
class StoppingRule {
 public:
  explicit StoppingRule(const StoppingLimits& limits) : limits_(limits) {}

  // Returns true to stop; state() then gives the reason.
  bool add(double step_seconds);

  Stopping state() const { return state_; }

  // Returns the value of the last look at the interval; infinity before the first.
  double relative_half_width() const { return relative_half_width_; }

 private:
  static constexpr std::int64_t kFirstLook = 20;

  void look();

  StoppingLimits limits_;
  std::vector<double> step_seconds_;
  double total_seconds_ = 0;
  std::int64_t next_look_ = kFirstLook;
  double relative_half_width_ = std::numeric_limits<double>::infinity();
  Stopping state_ = Stopping::too_few;
};

}  // namespace trainyard::record
