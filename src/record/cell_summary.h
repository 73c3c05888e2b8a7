#pragma once

#include <span>
#include <string>

#include "record/step_statistics.h"

namespace trainyard::record {

// A run as summaries and comparisons see it: where it ran, and one figure that it came to.
struct MeasuredRun {
  std::string node;           // empty: not known, taken as one and the same
  double value = 0;           // REQUIRES: positive and finite
  double relative_error = 0;  // standard error that the steps of the run leave, over value; 0: not known
  // Seconds of a hand-off between its threads, before and after it; 0: not known, or its cores moved
  // meanwhile.
  double core_distance = 0;
};

// Distances of one placement of the cores agree to a few per cent; those of two placements differ by more.
inline constexpr double kDistanceGap = 0.25;

// What the runs of one cell say. Machines are busy now and then, and a run that was held up says nothing of
// the others: the centre is a median, and its interval asks nothing of the distribution of runs.
struct CellSummary {
  int runs = 0, nodes = 0;
  double median = 0;       // over runs; over the medians of nodes where `by_node`
  double mean = 0;         // over runs
  Interval interval;       // 95 %, of the median over all runs (or nodes) there could be; above zero
  double run_spread = 0;   // standard deviation over mean, of all runs
  double node_spread = 0;  // within nodes, pooled; equals run_spread where there is one node
  bool by_node = false;    // nodes differ by more than their runs explain: the node is the unit

  bool has_interval() const { return runs > 1; }
};

// REQUIRES: at least one run.
CellSummary describe_cell(std::span<const MeasuredRun> runs);

}  // namespace trainyard::record
