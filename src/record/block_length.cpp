#include "record/block_length.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "record/autoregression.h"

namespace trainyard::record {
namespace {

// The last lag before `quiet` insignificant ones in a row; where there are no such, the last significant one.
std::size_t last_significant_lag(std::span<const double> correlation, std::size_t quiet, double significant) {
  std::size_t insignificant = 0, last = 0;
  for (std::size_t lag = 1; lag < correlation.size(); ++lag) {
    if (std::abs(correlation[lag]) >= significant) {
      last = lag;
      insignificant = 0;
    } else if (++insignificant == quiet) {
      break;
    }
  }
  return last;
}

}  // namespace

std::int64_t block_length(std::span<const double> centred) {
  const auto n = static_cast<double>(centred.size());
  if (n < 8) return 1;
  const double shortest = std::floor(std::cbrt(n));
  const double longest = std::ceil(std::min(3 * std::sqrt(n), n / 3));
  const auto quiet = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(n)))));
  const std::size_t lags =
      std::min(static_cast<std::size_t>(std::ceil(std::sqrt(n))) + quiet, centred.size() - 1);

  std::vector<double> correlation(lags + 1);
  autocovariances(centred, correlation);
  const double variance = correlation[0];
  if (!(variance > 0)) return static_cast<std::int64_t>(shortest);
  for (double& value : correlation) value /= variance;
  const std::size_t last = last_significant_lag(correlation, quiet, 1.96 * std::sqrt(std::log10(n) / n));
  if (last == 0) return static_cast<std::int64_t>(shortest);

  const std::size_t window = std::min(2 * last, lags);
  double weighted = 0, spectrum = 1;
  for (std::size_t lag = 1; lag <= window; ++lag) {
    const double position = static_cast<double>(lag) / static_cast<double>(window);
    const double flat_top = position <= 0.5 ? 1 : 2 * (1 - position);
    weighted += 2 * flat_top * static_cast<double>(lag) * correlation[lag];
    spectrum += 2 * flat_top * correlation[lag];
  }
  const double best = std::cbrt(2 * weighted * weighted / (4.0 / 3 * spectrum * spectrum) * n);
  return static_cast<std::int64_t>(std::clamp(std::round(best), shortest, longest));
}

}  // namespace trainyard::record
