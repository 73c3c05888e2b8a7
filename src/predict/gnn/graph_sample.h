#pragma once

#include "engine/executor.h"

namespace trainyard::predict {

// GraphSample is one job: its graph, and its measurements where they are known.
struct GraphSample {
  std::string name, family;  // `family`: what must not be on both sides of a split
  std::int64_t nodes = 0;
  std::vector<float> features;           // (nodes, F)
  std::vector<std::int32_t> offsets{0};  // (nodes + 1): where the neighbours of each node begin
  std::vector<std::int32_t> neighbours;  // nodes of this graph
  std::vector<float> labels;             // (outputs), or empty
  std::vector<std::uint8_t> known;       // (outputs): 0 where a label is not to be learned; empty: all are

  bool knows(std::size_t output) const { return known.empty() || known[output] != 0; }
};

// Sets the neighbours of both ends of each edge, ascending, each once; leaves out an edge from a node to
// itself.
void set_undirected_edges(GraphSample& sample,
                          const std::vector<std::pair<std::int32_t, std::int32_t>>& edges);

// Throws Error (config) naming the sample and the mismatch: no nodes, lists of other lengths, a neighbour
// that is no node, a number that is not finite. With `outputs` 0 labels are not checked.
void check_sample(const GraphSample& sample, std::int64_t features, std::int64_t outputs);

}  // namespace trainyard::predict
