#pragma once

#include "graph/graph.h"
#include "graph/op_def.h"

namespace trainyard::graph {

Cost cost_of(const Graph& graph, NodeId node);

// Returns the sum over the nodes of one phase, or of all.
Cost total_cost(const Graph& graph);
Cost total_cost(const Graph& graph, Phase phase);

// Returns the bytes of forward nodes' outputs that some backward node reads and that must be kept until then.
std::int64_t total_bytes_saved(const Graph& graph);

std::int64_t parameter_count(const Graph& graph);

// Adds the nodes that sum several gradients of one value. The caller passes it, because this folder knows no
// ops.
using SumGradients = std::function<ValueId(Graph&, const std::vector<ValueId>&)>;

// Appends the backward pass: given the gradients `d_outputs` of `outputs`, returns the gradients of `wanted`
// (kNone where the outputs do not depend on one). Only gradients on a path to a wanted value are computed.
std::vector<ValueId> differentiate(Graph& graph, const std::vector<ValueId>& outputs,
                                   const std::vector<ValueId>& d_outputs, const std::vector<ValueId>& wanted,
                                   const SumGradients& sum);

}  // namespace trainyard::graph
