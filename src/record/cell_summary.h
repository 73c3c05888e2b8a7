#pragma once

#include "record/steady_state.h"

namespace trainyard::record {

// NodeEffects tells how much of the spread between runs of one cell comes from their nodes: a fit of log
// value = cell + node over all runs. Nodes are compared only through cells that ran on several of them.
struct NodeEffects {
  struct Node {
    std::string name;
    int runs = 0;      // of cells that ran on several nodes
    double ratio = 1;  // its values over those of a typical node
  };

  std::vector<Node> nodes;  // from the smallest ratio to the largest; empty where no cell ran on two nodes
  double run_spread = 0;    // of runs about their cell, as a relative standard deviation
  double node_spread = 0;   // of runs about their cell and node
  bool differ = false;      // by more than runs on one node let expect (F test, 5 %)
};

// MeasuredRun is a run as summaries and comparisons use it: its node, and one figure.
struct MeasuredRun {
  std::string node;           // empty: not known, taken as one and the same
  double value = 0;           // REQUIRES: positive and finite
  double relative_error = 0;  // standard error that the steps of the run leave, over value; 0: not known
  // Seconds of a hand-off between its threads, before and after it; 0: not known, or its cores moved
  // meanwhile.
  double core_distance = 0;
};

// Each element of `cells` holds the runs of one cell.
NodeEffects find_node_effects(std::span<const std::vector<MeasuredRun>> cells);

// Distances of one placement of the cores agree to a few per cent; those of two placements differ by more.
inline constexpr double kDistanceGap = 0.25;

// CellSummary summarises the runs of one cell. Machines are busy now and then, and a run that was delayed
// tells nothing about the others. So the centre is a median, and its interval assumes nothing about the
// distribution of runs.
struct CellSummary {
  int runs = 0, nodes = 0;
  double median = 0;         // over runs; over the medians of nodes where `by_node`
  double mean = 0;           // over runs
  stats::Interval interval;  // 95 %, of the median over all runs (or nodes) there could be; above zero
  double run_spread = 0;     // standard deviation over mean, of all runs
  double node_spread = 0;    // within nodes, pooled; equals run_spread where there is one node
  bool by_node = false;      // nodes differ by more than their runs explain: the node is the unit

  bool has_interval() const { return runs > 1; }
};

// REQUIRES: at least one run.
CellSummary describe_cell(std::span<const MeasuredRun> runs);

}  // namespace trainyard::record
