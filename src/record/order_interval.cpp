#include "record/order_interval.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "record/statistics.h"
#include "record/student_t.h"

namespace trainyard::record {

Interval order_interval(std::span<const double> samples) {
  constexpr double kOutside = 0.05;
  const std::vector<double> sorted = sorted_copy(samples);
  const std::size_t n = sorted.size();
  // By how much of the range between the extremes 2, 3, 4 or 5 normal samples must be widened on either side
  // for 95 %.
  constexpr std::array kWidening = {5.8425, 0.8127, 0.2400, 0.0384};
  if (n - 2 < kWidening.size()) {
    const double reach = kWidening[n - 2] * (sorted.back() - sorted.front());
    return {sorted.front() - reach, sorted.back() + reach};
  }
  constexpr std::size_t kManySamples =
      500;  // powers of one half become too small, and the normal distribution is near
  if (n > kManySamples) {
    const double reach = 0.5 * t_quantile(1 - kOutside / 2, std::numeric_limits<double>::infinity()) /
                         std::sqrt(static_cast<double>(n));
    return {quantile_of_sorted(sorted, 0.5 - reach), quantile_of_sorted(sorted, 0.5 + reach)};
  }
  // P(at most k of n samples are below the median), k = 0, 1, ...
  double below = 0, term = std::exp2(-static_cast<double>(n)), coverage = 1, next = 1;
  std::size_t k = 0;
  for (;; ++k) {
    below += term;
    next = 1 - 2 * below;
    if (next < 1 - kOutside || 2 * (k + 1) >= n) break;
    coverage = next;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  // Between the order statistics k (covers more than 95 %) and k + 1 (less), counted from 1.
  const double share = (coverage - (1 - kOutside)) / (coverage - next);
  const auto count = static_cast<double>(n), rank = static_cast<double>(k);
  const double inward = (count - rank) * share / (rank + (count - 2 * rank) * share);
  return {sorted[k - 1] + inward * (sorted[k] - sorted[k - 1]),
          sorted[n - k] - inward * (sorted[n - k] - sorted[n - 1 - k])};
}

}  // namespace trainyard::record
