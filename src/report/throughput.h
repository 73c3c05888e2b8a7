#pragma once

#include <cstdint>
#include <span>

#include "record/run_record.h"

namespace trainyard::report {

// Images per second of one cell, over its runs. A run counts once, whatever its number of steps.
struct Throughput {
  int runs = 0;                     // that have a throughput
  double median = 0;                // of runs, or of nodes where they differ: the headline
  double mean = 0, max = 0;         // of runs
  record::Interval interval;        // 95 % of the median, above zero; only with two runs or more
  double run_to_run = 0;            // standard deviation between runs / mean; only with two runs or more
  int nodes = 0;                    // that the runs were on
  double within_nodes = 0;          // as run_to_run, within nodes; equal where there is one node
  bool by_node = false;             // nodes differ by more than their runs explain
  double jitter = 0;                // mean over runs of speed jitter / mean speed: between the steps of a run
  std::int64_t steps = 0;           // timed, over all runs
  std::int64_t unsteady_steps = 0;  // of these, left out as not yet steady
  int never_steady = 0;             // runs that did not settle

  // What charts and sentences show of the cell.
  double centre() const { return median; }
  bool has_interval() const { return runs > 1; }
};

Throughput summarise_throughput(std::span<const record::RunRecord* const> runs);

}  // namespace trainyard::report
