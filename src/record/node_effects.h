#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/cell_summary.h"

namespace trainyard::record {

// How much of the spread between runs of one cell is that of the nodes they were on: a fit of
// log value = cell + node over all runs. Nodes are compared only through cells that ran on several of them.
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

// One element of `cells` is the runs of one cell.
NodeEffects find_node_effects(std::span<const std::vector<MeasuredRun>> cells);

}  // namespace trainyard::record
