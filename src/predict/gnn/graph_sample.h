#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "predict/gnn/network.h"
#include "predict/gnn/scaling.h"

namespace trainyard::predict {

// One job: its graph, and what was measured of it where that is known.
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

// Neighbours of both ends of each edge, ascending, each once; an edge from a node to itself is left out.
void set_undirected_edges(GraphSample& sample,
                          const std::vector<std::pair<std::int32_t, std::int32_t>>& edges);

// Error (config) names the sample and what does not fit: no nodes, lists of other lengths, a neighbour that
// is no node, a number that is not finite. `outputs` 0: labels are not looked at.
void check_sample(const GraphSample& sample, std::int64_t features, std::int64_t outputs);

// Room for any `graphs` of the samples at once.
Capacity capacity_for(std::span<const GraphSample> samples, const Architecture& architecture,
                      std::int64_t graphs);

// Writes graphs into the inputs of a network, in their order, scaled. REQUIRES: on the host; they fit.
void write_graphs(engine::Executor& executor, std::span<const GraphSample* const> samples,
                  const Architecture& architecture, const Scaling& scaling);

// Writes their labels. The loss is then the mean over the labels that are known; returns how many these are.
std::int64_t write_labels(engine::Executor& executor, std::span<const GraphSample* const> samples,
                          const Scaling& scaling);

}  // namespace trainyard::predict
