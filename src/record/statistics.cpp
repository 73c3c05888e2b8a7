#include "record/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace trainyard::record {
namespace {

double squared_deviations(std::span<const double> samples) {
  const double centre = mean(samples);
  double sum = 0;
  for (const double sample : samples) sum += (sample - centre) * (sample - centre);
  return sum;
}

}  // namespace

std::vector<double> sorted_copy(std::span<const double> samples) {
  TRAINYARD_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Summary summarise(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  return {mean(sorted), quantile_of_sorted(sorted, 0.5), sorted.front(), quantile_of_sorted(sorted, 0.95)};
}

double mean(std::span<const double> samples) {
  TRAINYARD_CHECK(!samples.empty());
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double quantile(std::span<const double> samples, double q) {
  return quantile_of_sorted(sorted_copy(samples), q);
}

double quantile_of_sorted(std::span<const double> sorted, double q) {
  TRAINYARD_CHECK(!sorted.empty());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double population_variance(std::span<const double> samples) {
  return squared_deviations(samples) / static_cast<double>(samples.size());
}

double sample_variance(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  return squared_deviations(samples) / static_cast<double>(samples.size() - 1);
}

double scaled_mad(std::span<const double> samples) {
  const double centre = median(samples);
  std::vector<double> distances(samples.begin(), samples.end());
  for (double& value : distances) value = std::abs(value - centre);
  return 1.4826 * median(distances);
}

std::vector<std::int64_t> find_outliers(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  const double q1 = quantile_of_sorted(sorted, 0.25), q3 = quantile_of_sorted(sorted, 0.75);
  const double reach = 3 * (q3 - q1);
  std::vector<std::int64_t> outliers;
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i] < q1 - reach || samples[i] > q3 + reach) outliers.push_back(static_cast<std::int64_t>(i));
  return outliers;
}

}  // namespace trainyard::record
