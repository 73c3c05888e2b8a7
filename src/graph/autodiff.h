#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace trainyard::graph {

// Adds the nodes that sum several gradients of one value; given, because this folder knows no ops.
using SumGradients = std::function<ValueId(Graph&, const std::vector<ValueId>&)>;

// Appends the backward pass: given the gradients `d_outputs` of `outputs`, returns the gradients of `wanted`
// (kNone where the outputs do not depend on one). Only gradients on a path to a wanted value are computed.
std::vector<ValueId> differentiate(Graph& graph, const std::vector<ValueId>& outputs,
                                   const std::vector<ValueId>& d_outputs, const std::vector<ValueId>& wanted,
                                   const SumGradients& sum);

}  // namespace trainyard::graph
