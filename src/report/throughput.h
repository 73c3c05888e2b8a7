#pragma once

#include <cstdint>
#include <span>

#include "record/run_record.h"

namespace trainyard::report {

// Images per second of one cell, over its runs. A run counts once, whatever its number of steps.
struct Throughput {
  int runs = 0;  // that have a throughput
  double mean = 0, median = 0, max = 0;
  record::Interval interval;        // 95 % of the mean, between runs; only with two runs or more
  double run_to_run = 0;            // standard deviation between runs / mean; only with two runs or more
  double jitter = 0;                // mean over runs of speed jitter / mean speed: between the steps of a run
  std::int64_t steps = 0;           // timed, over all runs
  std::int64_t unsteady_steps = 0;  // of these, left out as not yet steady
  int never_steady = 0;             // runs that did not settle

  bool has_interval() const { return runs > 1; }
  // Few runs can put the lower end below zero, where no speed is: charts draw from zero on.
  double drawn_low() const { return interval.low > 0 ? interval.low : 0; }
};

Throughput summarise_throughput(std::span<const record::RunRecord* const> runs);

}  // namespace trainyard::report
