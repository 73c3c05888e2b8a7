#pragma once

#include <span>
#include <vector>

#include "record/step_statistics.h"

namespace trainyard::record {

// Runs differ more than their steps let expect. What several runs of one cell say, with the two kinds of
// spread kept apart (Kalibera & Jones, Rigorous benchmarking in reasonable time, ISMM 2013).
struct TwoLevel {
  int runs = 0;
  double mean = 0;              // of the runs' means: every run counts the same
  double olympic_mean = 0;      // without the fastest and the slowest run
  double between_variance = 0;  // of the true levels of runs; 0 when the steps explain all the spread
  double within_variance = 0;   // of the steps about their run's level
  double run_spread = 0;        // relative standard deviation of the runs' means
  Interval interval;            // 95 %, of the mean over all runs there could be; the mean itself for one run
};

// Step samples, run by run; runs may have different lengths. REQUIRES: one run, and a sample in each.
TwoLevel describe_runs(std::span<const std::vector<double>> runs);

// Runs that one cell needs for a 95 % interval of +-relative_half_width, when runs spread by run_spread.
int runs_for_half_width(double run_spread, double relative_half_width);

// Significance at which a difference is claimed. Below five per cent, so that comparisons of equals raise
// fewer alarms than that even where speeds are not quite normal.
inline constexpr double kAlarmLevel = 0.03;

// Runs that each of two sides needs for a difference of `effect` (0.05: five per cent) to be claimed with
// this probability, which asks for significance and for a ratio beyond `minimum_effect`.
int runs_for_effect(double run_spread, double effect, double minimum_effect = 0, double power = 0.8);

}  // namespace trainyard::record
