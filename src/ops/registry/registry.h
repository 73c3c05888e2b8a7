#pragma once

#include "graph/graph.h"
#include "graph/op_def.h"

namespace trainyard::ops {

// Every op, joined from the lists of the files; tests walk it.
const std::vector<const graph::OpDef*>& all_ops();

// Appends the backward pass of a scalar loss; returns the gradient of each parameter. Throws when the loss
// does not depend on one of them.
std::vector<graph::ValueId> gradients_of(graph::Graph& graph, graph::ValueId loss,
                                         const std::vector<graph::ValueId>& parameters);

// Backward pass from given output gradients; kNone where an output does not depend on a wanted value.
std::vector<graph::ValueId> backward(graph::Graph& graph, const std::vector<graph::ValueId>& outputs,
                                     const std::vector<graph::ValueId>& d_outputs,
                                     const std::vector<graph::ValueId>& wanted);

}  // namespace trainyard::ops
