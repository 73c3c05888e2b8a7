#include "stats/two_means.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"

namespace trainyard::stats {

std::optional<TwoMeans> two_means(std::span<const double> values, std::span<const double> weights) {
  TRAINYARD_CHECK(values.size() == weights.size());
  std::vector<std::pair<double, double>> sorted;
  sorted.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sorted.emplace_back(values[i], weights[i]);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty() || sorted.front().first == sorted.back().first) return std::nullopt;

  // Sums of deviations from the mean keep their digits where values are large and close to each other.
  double weight = 0, mean = 0, variance = 0, left_over = 0;
  for (const auto& [value, w] : sorted) weight += w;
  for (const auto& [value, w] : sorted) mean += w / weight * (value - sorted.front().first);
  mean += sorted.front().first;
  for (const auto& [value, w] : sorted) {
    variance += w * (value - mean) * (value - mean);
    left_over += w * (value - mean);
  }

  // The split with the least squares within is the one with the most between: sum^2 W / (W_low W_high).
  double low_weight = 0, low_sum = 0, best = -1;
  TwoMeans levels;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    low_weight += sorted[i].second;
    low_sum += sorted[i].second * (sorted[i].first - mean);
    if (sorted[i].first == sorted[i + 1].first) continue;
    const double high_weight = weight - low_weight,
                 between = low_sum * low_sum * weight / (low_weight * high_weight);
    if (between <= best) continue;
    best = between;
    levels.low = mean + low_sum / low_weight;
    levels.high = mean + (left_over - low_sum) / high_weight;
    levels.high_share = high_weight / weight;
  }
  levels.explained = std::min(best / variance, 1.0);
  return levels;
}

}  // namespace trainyard::stats
