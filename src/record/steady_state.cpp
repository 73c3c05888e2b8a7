#include "record/steady_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "record/level_segments.h"
#include "record/statistics.h"

// Change points of the mean, then a comparison of the levels with what follows, as Barrett et al. (Virtual
// machine warmup blows hot and cold, OOPSLA 2017) do: rules that wait for k quiet steps are fooled by
// plateaus.
namespace trainyard::record {
namespace {

constexpr std::size_t kFewestSteps = 8;
constexpr double kMaterial = 0.005;        // smaller changes of level are not worth a discarded step
constexpr double kFewestKept = 0.25;       // of all steps, to call it settled (Barrett et al.)
constexpr double kDrift = 4, kTail = 2.5;  // significant drifts of the kept part, in standard errors

// The first segment from which on every level comes back later, or is the last one.
std::size_t first_lasting(std::span<const Segment> segments, double noise) {
  std::size_t first = 0;
  for (; first + 1 < segments.size(); ++first) {
    const Segment& here = segments[first];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Segment& later : segments.subspan(first + 1)) {
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
  const std::vector<double> sorted = sorted_copy(seconds.subspan(from));
  const double q1 = quantile_of_sorted(sorted, 0.25), q3 = quantile_of_sorted(sorted, 0.75);
  const double fence = std::max(q3 + 3 * (q3 - q1), quantile_of_sorted(sorted, 0.5) * (1 + 10 * kMaterial));
  while (from < seconds.size() / 2 && seconds[from] > fence) ++from;
  return from;
}

// Change along a straight line through the series, in its standard errors; 0 when it is immaterial.
double drift(std::span<const double> smooth, double noise) {
  const auto n = static_cast<double>(smooth.size());
  const double level = mean(smooth), middle = (n - 1) / 2;
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
  const std::vector<double> smooth = without_spikes(step_seconds);
  const double noise = lasting_noise(step_seconds);
  const std::vector<Segment> segments = level_segments(smooth, noise);
  const std::size_t warmup = skip_slow_start(step_seconds, segments[first_lasting(segments, noise)].begin);

  const auto kept = static_cast<double>(n - warmup);
  const bool long_enough = kept >= std::max(kFewestKept * static_cast<double>(n), 4.0);
  const bool mostly_kept = kept >= 0.5 * static_cast<double>(n);
  if (!long_enough || drift(std::span(smooth).subspan(warmup), noise) > (mostly_kept ? kDrift : kTail))
    return {0, false};
  return {static_cast<std::int64_t>(warmup), true};
}

}  // namespace trainyard::record
