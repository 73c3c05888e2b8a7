#pragma once

#include "graph/graph.h"

namespace trainyard::plan {

// The inputs of an update, parameter by parameter.
struct UpdatedParameter {
  graph::ValueId value, gradient;
  std::vector<graph::ValueId> slots;
  graph::ValueId copy = graph::kNone;
};

// REQUIRES: a node of update_op.
std::vector<UpdatedParameter> parameters_of(const graph::Graph& graph, const graph::Node& update);

// Adds the inputs of an update, or of a dense_update, of these to those that it has.
// REQUIRES: there is one at least.
void add_parameters(graph::Node& update, const std::vector<UpdatedParameter>& parameters);

}  // namespace trainyard::plan
