#include "record/autoregression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "record/statistics.h"

namespace trainyard::record {
namespace {

constexpr double kMostPersistent = 0.97;
using Lags = std::array<double, Autoregression::kMaxOrder + 1>;

// Levinson's recursion: one order more a call. Keeps the variance of the innovations.
struct Levinson {
  std::array<double, Autoregression::kMaxOrder> coefficients{};
  int order = 0;
  double variance;

  explicit Levinson(double variance_of_series) : variance(variance_of_series) {}

  void grow(const Lags& covariance) {
    const auto before = coefficients;
    double reflection = covariance[order + 1];
    for (int k = 0; k < order; ++k) reflection -= before[k] * covariance[order - k];
    reflection = variance > 0 ? reflection / variance : 0;
    for (int k = 0; k < order; ++k) coefficients[k] = before[k] - reflection * before[order - 1 - k];
    coefficients[order++] = reflection;
    variance *= 1 - reflection * reflection;
  }
};

}  // namespace

void autocovariances(std::span<const double> centred, std::span<double> by_lag) {
  const std::size_t n = centred.size();
  for (std::size_t lag = 0; lag < by_lag.size(); ++lag) {
    // Four sums at once: additions of doubles may not be reordered by the compiler.
    std::array<double, 4> sums{};
    std::size_t i = lag;
    for (; i + 3 < n; i += 4)
      for (std::size_t j = 0; j < 4; ++j) sums[j] += centred[i + j] * centred[i + j - lag];
    for (; i < n; ++i) sums[0] += centred[i] * centred[i - lag];
    by_lag[lag] = (sums[0] + sums[1] + sums[2] + sums[3]) / static_cast<double>(n);
  }
}

double lag1_autocorrelation(std::span<const double> samples) {
  if (samples.size() < 3) return 0;
  const double centre = mean(samples);
  std::vector<double> centred(samples.begin(), samples.end());
  for (double& value : centred) value -= centre;
  std::array<double, 2> covariance{};
  autocovariances(centred, covariance);
  return covariance[0] > 0 ? covariance[1] / covariance[0] : 0;
}

Autoregression Autoregression::fit(std::span<const double> centred, int order) {
  Lags covariance{};
  autocovariances(centred, std::span(covariance).first(static_cast<std::size_t>(order) + 1));
  Levinson levinson(covariance[0]);
  while (levinson.order < order) levinson.grow(covariance);

  Autoregression model;
  model.order_ = order;
  model.coefficients_ = levinson.coefficients;
  // Kendall (1954), Marriott & Pope (1954).
  if (order == 1)
    model.coefficients_[0] += (1 + 3 * model.coefficients_[0]) / static_cast<double>(centred.size());
  const double sum = std::accumulate(model.coefficients_.begin(), model.coefficients_.end(), 0.0);
  if (sum > kMostPersistent)
    for (double& value : model.coefficients_) value *= kMostPersistent / sum;
  return model;
}

int Autoregression::choose_order(std::span<const double> centred) {
  const auto n = static_cast<double>(centred.size());
  const int most = std::clamp(static_cast<int>(centred.size() / 10), 1, kMaxOrder);
  Lags covariance{};
  autocovariances(centred, std::span(covariance).first(static_cast<std::size_t>(most) + 1));
  Levinson levinson(covariance[0]);
  int best_order = 1;
  double best = std::numeric_limits<double>::infinity();
  while (levinson.order < most) {
    levinson.grow(covariance);
    // Hurvich & Tsai (1989).
    const int k = levinson.order;
    const double criterion = n * std::log(levinson.variance) + 2 * (k + 1) * n / std::max(n - k - 2, 1.0);
    if (criterion < best) {
      best = criterion;
      best_order = k;
    }
  }
  return best_order;
}

double Autoregression::gain() const {
  return 1 / (1 - std::accumulate(coefficients_.begin(), coefficients_.end(), 0.0));
}

void Autoregression::innovations(std::span<const double> centred, std::span<double> result) const {
  const auto order = static_cast<std::size_t>(order_);
  for (std::size_t i = order; i < centred.size(); ++i) {
    double value = centred[i];
    for (std::size_t k = 0; k < order; ++k) value -= coefficients_[k] * centred[i - 1 - k];
    result[i - order] = value;
  }
}

}  // namespace trainyard::record
