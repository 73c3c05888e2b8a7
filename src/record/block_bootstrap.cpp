#include "record/block_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/philox.h"
#include "record/autoregression.h"
#include "record/block_length.h"
#include "record/statistics.h"
#include "record/student_t.h"

namespace trainyard::record {
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

// Standard error of a centred series' mean: means of blocks of innovations, coloured (Andrews & Monahan
// 1992).
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

// A series ready to be resampled.
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
    standard_error = record::standard_error(centred, model, block, workspace);
  }
};

// Too few to tell their dependence, or constant.
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

}  // namespace trainyard::record
