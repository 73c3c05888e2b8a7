#include "analyze/period.h"

#include <algorithm>

#include "record/statistics.h"

namespace trainyard::analyze {
namespace {

constexpr std::size_t kMostPoints = 4096;  // the correlations of these take some milliseconds
constexpr double kClear = 0.5;             // least correlation
constexpr double kAsGood = 0.7;            // of the best, which may be a multiple that falls on samples
constexpr std::size_t kLeastRepeats = 3;

// Correlation of the series with itself, `lag` later, for every lag below the series' third.
std::vector<double> autocorrelations(std::vector<double> series) {
  const double mean = record::mean(series), variance = record::population_variance(series);
  if (variance == 0) return {};
  for (double& value : series) value -= mean;
  std::vector<double> correlations;
  for (std::size_t lag = 0; lag <= series.size() / kLeastRepeats; ++lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < series.size(); ++i) sum += series[i] * series[i + lag];
    correlations.push_back(sum / (static_cast<double>(series.size() - lag) * variance));
  }
  return correlations;
}

// Where the parabola through three neighbours has its top, from the middle one.
double top_offset(double before, double top, double after) {
  const double bend = before - 2 * top + after;
  return bend < 0 ? std::clamp(0.5 * (before - after) / bend, -0.5, 0.5) : 0;
}

}  // namespace

std::optional<Period> find_period(const Signal& signal) {
  const Signal even = resampled(signal, kMostPoints);
  const std::vector<double> r = autocorrelations(even.values);
  // What lies before the first negative one is the signal's own smoothness.
  const auto first = std::find_if(r.begin(), r.end(), [](double value) { return value < 0; });
  if (r.end() - first < 2) return std::nullopt;
  const double most = *std::max_element(first, r.end() - 1);
  if (most < kClear) return std::nullopt;
  for (auto at = first; at + 1 != r.end(); ++at) {
    if (*at < kAsGood * most || *at < *(at - 1) || *at < *(at + 1)) continue;
    const double lag = static_cast<double>(at - r.begin()) + top_offset(*(at - 1), *at, *(at + 1));
    return Period{lag * even.duration(0), std::min(*at, 1.0)};
  }
  return std::nullopt;
}

}  // namespace trainyard::analyze
