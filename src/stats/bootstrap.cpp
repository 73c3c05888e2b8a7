#include "stats/bootstrap.h"

#include "base/philox.h"

namespace trainyard::stats {

namespace {

constexpr double kMostPersistent = 0.97;
using Lags = std::array<double, Autoregression::kMaxOrder + 1>;

// Levinson's recursion raises the order by one per call and keeps the variance of the innovations.
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
    // The loop keeps four sums, because the compiler may not reorder additions of doubles.
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
  // The correction is that of Kendall (1954) and Marriott & Pope (1954).
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
    // The criterion is that of Hurvich & Tsai (1989).
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

namespace {

// Returns the last lag before `quiet` insignificant lags in a row, or the last significant lag where there is
// no such row.
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

namespace {

constexpr int kResamples = 399;  // with (resamples + 1) * 0.95 a whole number
constexpr std::size_t kFewestSamples = 10, kMostSamples = 10'000;

// Draws positions one after the other.
class Positions {
 public:
  std::size_t draw(std::size_t count) {
    if (used_ == words_.size()) {
      words_ = philox_.block(block_++);
      used_ = 0;
    }
    return static_cast<std::size_t>((std::uint64_t{words_[used_++]} * count) >> 32);
  }

 private:
  Philox philox_{0, stream_of("block bootstrap")};
  std::uint64_t block_ = 0;
  Philox::Block words_{};
  std::size_t used_ = words_.size();
};

std::vector<double> centre(std::span<const double> samples, double level) {
  std::vector<double> centred(samples.begin(), samples.end());
  for (double& value : centred) value -= level;
  return centred;
}

// Returns the standard error of a centred series' mean, from means of blocks of innovations, coloured
// (Andrews & Monahan 1992).
double standard_error(std::span<const double> centred, const Autoregression& model, std::size_t block,
                      std::vector<double>& innovations) {
  innovations.resize(centred.size() - static_cast<std::size_t>(model.order()));
  model.innovations(centred, innovations);
  const double level = mean(innovations);
  const std::size_t blocks = innovations.size() / block;
  double squares = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    double sum = 0;
    for (std::size_t i = 0; i < block; ++i) sum += innovations[b * block + i] - level;
    squares += sum * sum;
  }
  const double variance = squares / static_cast<double>((blocks - 1) * block);
  return model.gain() * std::sqrt(variance / static_cast<double>(centred.size()));
}

// Post-blackening (Davison & Hinkley 1997, 8.2): circular blocks of innovations through the autoregression.
void resample(std::span<const double> centred, std::span<const double> innovations,
              const Autoregression& model, std::size_t block, Positions& positions,
              std::vector<double>& series) {
  const auto order = static_cast<std::size_t>(model.order());
  const std::size_t start = positions.draw(centred.size() - order + 1);
  std::copy_n(centred.begin() + static_cast<std::ptrdiff_t>(start), order, series.begin());
  for (std::size_t i = order; i < series.size();) {
    std::size_t from = positions.draw(innovations.size());
    for (const std::size_t end = std::min(i + block, series.size()); i < end; ++i) {
      series[i] = model.next(&series[i], innovations[from]);
      if (++from == innovations.size()) from = 0;
    }
  }
}

// 95 % of the resampled |mean| / (its own standard error) are below this. Symmetric, since the estimate of
// one tail alone is coarser than what skewness would gain.
double studentised_reach(std::span<const double> centred, std::span<const double> innovations,
                         const Autoregression& model, std::size_t block) {
  Positions positions;
  std::vector<double> series(centred.size()), workspace, ratios;
  for (int i = 0; i < kResamples; ++i) {
    resample(centred, innovations, model, block, positions, series);
    const double level = mean(series);
    for (double& value : series) value -= level;
    const double error = standard_error(series, Autoregression::fit(series, model.order()), block, workspace);
    ratios.push_back(error > 0 ? std::abs(level) / error : 0);
  }
  const auto rank = static_cast<std::ptrdiff_t>((kResamples + 1) * 0.95) - 1;
  std::nth_element(ratios.begin(), ratios.begin() + rank, ratios.end());
  return ratios[static_cast<std::size_t>(rank)];
}

// A Whitened is a series ready to be resampled.
struct Whitened {
  std::size_t group;  // samples averaged into one value: it bounds the work and leaves the mean's error alone
  std::vector<double> centred, innovations;
  Autoregression model;
  std::size_t block;
  double standard_error;

  explicit Whitened(std::span<const double> samples)
      : group((samples.size() + kMostSamples - 1) / kMostSamples) {
    std::vector<double> values;
    for (std::size_t i = 0; i + group <= samples.size(); i += group)
      values.push_back(mean(samples.subspan(i, group)));
    centred = centre(values, mean(values));
    model = Autoregression::fit(centred, Autoregression::choose_order(centred));
    innovations.resize(centred.size() - static_cast<std::size_t>(model.order()));
    model.innovations(centred, innovations);
    innovations = centre(innovations, mean(innovations));
    block = static_cast<std::size_t>(block_length(innovations));
    std::vector<double> workspace;
    standard_error = stats::standard_error(centred, model, block, workspace);
  }
};

// Returns true for samples that are constant, or too few to show their dependence.
bool plain(std::span<const double> samples) {
  return samples.size() < kFewestSamples || !(sample_variance(samples) > 0);
}

}  // namespace

MeanError mean_error(std::span<const double> samples) {
  const auto n = static_cast<double>(samples.size());
  const double variance = sample_variance(samples);
  if (plain(samples)) return {std::sqrt(variance / n), n, 1};
  const Whitened series(samples);
  const double error = series.standard_error;
  return {error, error > 0 ? std::clamp(variance / (error * error), 1.0, n) : n,
          static_cast<std::int64_t>(series.block * series.group)};
}

Interval mean_interval(std::span<const double> samples) {
  const double level = mean(samples);
  double reach = 0;
  if (!plain(samples)) {
    const Whitened series(samples);
    reach = series.standard_error *
            studentised_reach(series.centred, series.innovations, series.model, series.block);
  } else if (samples.size() > 1) {
    const auto n = static_cast<double>(samples.size());
    reach = t_quantile(0.975, n - 1) * std::sqrt(sample_variance(samples) / n);
  }
  return {level - reach, level + reach};
}

Interval median_interval(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  const double middle = quantile_of_sorted(sorted, 0.5);
  std::vector<double> below(samples.begin(), samples.end());
  for (double& value : below) value = value < middle ? 1 : value > middle ? 0 : 0.5;
  const double reach = mean_interval(below).half_width();
  return {quantile_of_sorted(sorted, std::max(0.5 - reach, 0.0)),
          quantile_of_sorted(sorted, std::min(0.5 + reach, 1.0))};
}

}  // namespace trainyard::stats
