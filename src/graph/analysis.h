#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace trainyard::graph {

Cost cost_of(const Graph& graph, NodeId node);

// Sum over the nodes of one phase, or of all.
Cost total_cost(const Graph& graph);
Cost total_cost(const Graph& graph, Phase phase);

// Bytes of a forward node's outputs that some backward node reads: what must be kept in between.
std::int64_t bytes_saved(const Graph& graph, NodeId node);
std::int64_t total_bytes_saved(const Graph& graph);

std::int64_t parameter_count(const Graph& graph);

}  // namespace trainyard::graph
