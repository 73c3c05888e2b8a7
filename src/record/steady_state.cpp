// The method finds change points of the mean, then compares the levels with those that follow, as Barrett et
// al. (Virtual machine warmup blows hot and cold, OOPSLA 2017) do. Rules that wait for k quiet steps fail on
// plateaus.

#include "record/steady_state.h"

#include "stats/bootstrap.h"
#include "stats/change_points.h"

namespace trainyard::record {

namespace {

constexpr std::size_t kFewestSteps = 8;
constexpr double kMaterial = 0.005;        // smaller changes of level are not worth a discarded step
constexpr double kFewestKept = 0.25;       // of all steps, to call it settled (Barrett et al.)
constexpr double kDrift = 4, kTail = 2.5;  // significant drifts of the kept part, in standard errors

// Returns the first segment from which on every level comes back later, or is the last one.
std::size_t first_lasting(std::span<const stats::Segment> segments, double noise) {
  std::size_t first = 0;
  for (; first + 1 < segments.size(); ++first) {
    const stats::Segment& here = segments[first];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const stats::Segment& later : segments.subspan(first + 1)) {
      const double error =
          noise * std::sqrt(1 / static_cast<double>(here.steps()) + 1 / static_cast<double>(later.steps()));
      const double tolerance = std::max(kMaterial * std::abs(later.level), 2 * error);
      low = std::min(low, later.level - tolerance);
      high = std::max(high, later.level + tolerance);
    }
    if (here.level >= low && here.level <= high) break;
  }
  return first;
}

// Slow steps at the very start are warm-up even where they are too few to make a level.
std::size_t skip_slow_start(std::span<const double> seconds, std::size_t from) {
  const std::vector<double> sorted = stats::sorted_copy(seconds.subspan(from));
  const double q1 = stats::quantile_of_sorted(sorted, 0.25), q3 = stats::quantile_of_sorted(sorted, 0.75);
  const double fence =
      std::max(q3 + 3 * (q3 - q1), stats::quantile_of_sorted(sorted, 0.5) * (1 + 10 * kMaterial));
  while (from < seconds.size() / 2 && seconds[from] > fence) ++from;
  return from;
}

// Returns the change along a straight line through the series, in its standard errors; 0 when it is
// immaterial.
double drift(std::span<const double> smooth, double noise) {
  const auto n = static_cast<double>(smooth.size());
  const double level = stats::mean(smooth), middle = (n - 1) / 2;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < smooth.size(); ++i) {
    const double position = static_cast<double>(i) - middle;
    sum += position * (smooth[i] - level);
    squares += position * position;
  }
  const double change = sum / squares * n;
  if (std::abs(change) < 2 * kMaterial * std::abs(level)) return 0;
  return std::abs(change) / (noise * std::sqrt(12 / n));
}

}  // namespace

SteadyState find_steady_state(std::span<const double> step_seconds) {
  const std::size_t n = step_seconds.size();
  if (n < kFewestSteps) return {};
  const std::vector<double> smooth = stats::without_spikes(step_seconds);
  const double noise = stats::lasting_noise(step_seconds);
  const std::vector<stats::Segment> segments = stats::level_segments(smooth, noise);
  const std::size_t warmup = skip_slow_start(step_seconds, segments[first_lasting(segments, noise)].begin);

  const auto kept = static_cast<double>(n - warmup);
  const bool long_enough = kept >= std::max(kFewestKept * static_cast<double>(n), 4.0);
  const bool mostly_kept = kept >= 0.5 * static_cast<double>(n);
  if (!long_enough || drift(std::span(smooth).subspan(warmup), noise) > (mostly_kept ? kDrift : kTail))
    return {0, false};
  return {static_cast<std::int64_t>(warmup), true};
}

StepStatistics describe_steps(std::span<const double> step_seconds, double images_per_step) {
  StepStatistics result;
  result.steps = static_cast<std::int64_t>(step_seconds.size());
  if (step_seconds.empty()) return result;
  result.legacy = legacy_metrics(step_seconds, images_per_step);

  const SteadyState state = find_steady_state(step_seconds);
  result.unsteady_steps = state.unsteady_steps;
  result.steady = state.steady;
  const auto kept = step_seconds.subspan(static_cast<std::size_t>(state.unsteady_steps));

  const std::vector<double> sorted = stats::sorted_copy(kept);
  result.mean = stats::mean(kept);
  result.median = stats::quantile_of_sorted(sorted, 0.5);
  result.min = sorted.front();
  result.max = sorted.back();
  result.standard_deviation = std::sqrt(stats::sample_variance(kept));
  result.p5 = stats::quantile_of_sorted(sorted, 0.05);
  result.p25 = stats::quantile_of_sorted(sorted, 0.25);
  result.p75 = stats::quantile_of_sorted(sorted, 0.75);
  result.p95 = stats::quantile_of_sorted(sorted, 0.95);
  result.p99 = stats::quantile_of_sorted(sorted, 0.99);

  const stats::MeanError error = stats::mean_error(kept);
  result.lag1_autocorrelation = stats::lag1_autocorrelation(kept);
  result.effective_samples = error.effective_samples;
  result.block_steps = error.block_steps;
  result.mean_interval = stats::mean_interval(kept);
  // With few steps and one long stall the lower end would fall below zero, where no step can be.
  result.mean_interval.low = std::max(result.mean_interval.low, result.min);
  result.median_interval = stats::median_interval(kept);
  result.outliers = stats::find_outliers(kept);
  for (std::int64_t& step : result.outliers) step += state.unsteady_steps;
  return result;
}

const char* name(Stopping state) {
  switch (state) {
    case Stopping::steps:
      return "steps";
    case Stopping::seconds:
      return "seconds";
    case Stopping::width:
      return "width";
    case Stopping::too_few:
      return "too few steps";
    case Stopping::not_steady:
      return "not steady";
    case Stopping::too_wide:
      return "too wide";
  }
  return "";
}

bool StoppingRule::add(double step_seconds) {
  step_seconds_.push_back(step_seconds);
  total_seconds_ += step_seconds;
  const auto steps = static_cast<std::int64_t>(step_seconds_.size());
  if (limits_.relative_half_width > 0 && steps >= next_look_) look();
  if (state_ == Stopping::width) return true;
  if (steps >= limits_.max_steps) state_ = Stopping::steps;
  if (total_seconds_ >= limits_.max_seconds) state_ = Stopping::seconds;
  return state_ == Stopping::steps || state_ == Stopping::seconds;
}

void StoppingRule::look() {
  const SteadyState steady = find_steady_state(step_seconds_);
  const auto kept = std::span(step_seconds_).subspan(static_cast<std::size_t>(steady.unsteady_steps));
  next_look_ += next_look_ / 4;
  if (!steady.steady) {
    state_ = Stopping::not_steady;
  } else if (static_cast<std::int64_t>(kept.size()) < kFirstLook) {
    state_ = Stopping::too_few;
  } else {
    relative_half_width_ = stats::mean_interval(kept).half_width() / stats::mean(kept);
    state_ = relative_half_width_ <= limits_.relative_half_width ? Stopping::width : Stopping::too_wide;
  }
}

}  // namespace trainyard::record
