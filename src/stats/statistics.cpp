#include "stats/statistics.h"

#include <initializer_list>

#include "base/error.h"

namespace trainyard::stats {

namespace {

// Evaluates the continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method.
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300, kClose = 1e-15;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = std::abs(c) < kTiny ? kTiny : c;
      step = c * d;
      value *= step;
    }
    if (std::abs(step - 1) < kClose) break;
  }
  return value;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  // The fraction converges fast below the mean of the distribution; the other side is its mirror image.
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(x, a, b) / a;
  return 1 - std::exp(log_front) * beta_fraction(1 - x, b, a) / b;
}

}  // namespace

double two_sided_p(double t, double freedom) {
  if (std::isinf(t)) return 0;
  if (freedom > 1e7) return std::erfc(std::abs(t) / std::sqrt(2.0));
  return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double t_quantile(double probability, double freedom) {
  if (probability == 0.5) return 0;
  if (probability < 0.5) return -t_quantile(1 - probability, freedom);
  const double tail = 2 * (1 - probability);
  double low = 0, high = 1;
  while (two_sided_p(high, freedom) > tail && high < 1e300) high *= 2;
  while (high - low > 1e-13 * high) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (two_sided_p(middle, freedom) > tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double f_tail(double ratio, double numerator_freedom, double denominator_freedom) {
  if (std::isinf(ratio)) return 0;
  return incomplete_beta(denominator_freedom / (denominator_freedom + numerator_freedom * ratio),
                         denominator_freedom / 2, numerator_freedom / 2);
}

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

Interval order_interval(std::span<const double> samples) {
  constexpr double kOutside = 0.05;
  const std::vector<double> sorted = sorted_copy(samples);
  const std::size_t n = sorted.size();
  // The range between the extremes of 2, 3 or 4 normal samples must be widened by this share on either side
  // for 95 %.
  constexpr std::array kWidening = {5.8425, 0.8127, 0.2400};
  if (n - 2 < kWidening.size()) {
    const double reach = kWidening[n - 2] * (sorted.back() - sorted.front());
    return {sorted.front() - reach, sorted.back() + reach};
  }
  // The range of 5 samples covers the median in 93.75 % of any distribution, and must in one fifth of the
  // rest. When all lie on one side of the median, their distance to it and the gap between the two nearest
  // come from the same stretch of the distribution: exponential with rates 5 and 4 where that is even, so the
  // distance is less than 0.2 gaps in one fifth of all cases. The whole range, in its place, would take rare
  // runs far away for the width of a distribution.
  if (n == 5) {
    constexpr double kShareOfGap = 0.2;
    return {sorted[0] - kShareOfGap * (sorted[1] - sorted[0]),
            sorted[4] + kShareOfGap * (sorted[4] - sorted[3])};
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
