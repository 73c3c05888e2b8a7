#pragma once

#include <cstdint>
#include <span>

#include "record/step_statistics.h"

namespace trainyard::record {

// What a series of autocorrelated samples tells about its mean.
struct MeanError {
  double standard_error = 0;
  double effective_samples = 0;  // independent samples that would tell as much, 1..n
  std::int64_t block_steps = 0;  // length of the blocks that it is estimated and resampled by
};

// REQUIRES: at least one sample.
MeanError mean_error(std::span<const double> samples);

// The 95 % interval of the mean, by a studentised block bootstrap: the series is whitened by an
// autoregression, blocks of its innovations are drawn and coloured again, and the mean of every such series
// is divided by the standard error that it itself shows. It covers where sd / sqrt(n) does not;
// block_bootstrap_test.cpp has the table. The same samples give the same interval everywhere.
// REQUIRES: at least one sample.
Interval mean_interval(std::span<const double> samples);

// The 95 % interval of the median: the quantiles at the ends of the interval of the share of samples below it
// (Woodruff 1952). REQUIRES: at least one sample.
Interval median_interval(std::span<const double> samples);

}  // namespace trainyard::record
