#pragma once

#include "stats/statistics.h"

namespace trainyard::stats {

// Sums of products at distance 0..max_lag, over n. The series is taken as centred on zero.
void autocovariances(std::span<const double> centred, std::span<double> by_lag);

// Returns the autocorrelation at lag one about the samples' mean; 0 for constant or fewer than three samples.
double lag1_autocorrelation(std::span<const double> samples);

// The model is x[t] = sum of coefficient[k] * x[t - 1 - k] + innovation: one step of a centred series
// predicts the next ones.
class Autoregression {
 public:
  static constexpr int kMaxOrder = 8;

  // Fits by Yule-Walker. For order one the fit removes Kendall's bias of the coefficient, (1 + 3 r) / n; the
  // sum of the coefficients stays below 0.97, so that the gain is finite.
  static Autoregression fit(std::span<const double> centred, int order);

  // Returns the order, from one up, that Akaike's criterion, corrected for few samples, prefers.
  static int choose_order(std::span<const double> centred);

  int order() const { return order_; }

  // Returns the change of level that a lasting innovation of one causes.
  double gain() const;

  // Computes the innovation of every step that has `order` steps before it: n - order values.
  void innovations(std::span<const double> centred, std::span<double> result) const;

  // Makes the series from its innovations: reads series[0..order), writes the rest.
  double next(const double* end_of_past, double innovation) const {
    double value = innovation;
    for (int k = 0; k < order_; ++k) value += coefficients_[k] * end_of_past[-1 - k];
    return value;
  }

 private:
  int order_ = 0;
  std::array<double, kMaxOrder> coefficients_{};
};

// Length of the blocks in which a series with autocorrelation should be resampled: Politis & White (2004),
// corrected by Patton, Politis & White (2009), for circular blocks; at least the cube root of n, in case
// dependence is there that correlation does not show. REQUIRES: a series centred on zero.
std::int64_t block_length(std::span<const double> centred);

// Holds the information that a series of autocorrelated samples gives about its mean.
struct MeanError {
  double standard_error = 0;
  double effective_samples = 0;  // independent samples that would tell as much, 1..n
  std::int64_t block_steps = 0;  // length of the blocks that it is estimated and resampled by
};

// REQUIRES: at least one sample.
MeanError mean_error(std::span<const double> samples);

// Returns the 95 % interval of the mean, by a studentised block bootstrap: an autoregression whitens the
// series, blocks of its innovations are drawn and coloured again, and the mean of every such series is
// divided by its own standard error. The interval covers where sd / sqrt(n) does not; bootstrap_test.cpp
// measures the coverage. The same samples give the same interval everywhere. REQUIRES: at least one sample.
Interval mean_interval(std::span<const double> samples);

// Returns the 95 % interval of the median: the quantiles at the ends of the interval of the share of samples
// below it (Woodruff 1952). REQUIRES: at least one sample.
Interval median_interval(std::span<const double> samples);

}  // namespace trainyard::stats
