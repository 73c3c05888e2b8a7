#include "record/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace trainyard::record {
namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  TRAINYARD_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

Summary summarise(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  return {std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size()),
          quantile_of_sorted(sorted, 0.5), sorted.front(), quantile_of_sorted(sorted, 0.95)};
}

double quantile(std::span<const double> samples, double q) {
  return quantile_of_sorted(sorted_copy(samples), q);
}

}  // namespace trainyard::record
