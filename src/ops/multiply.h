#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

extern const graph::OpDef multiply_op;  // two equal shapes -> their product, element by element

graph::ValueId multiply(graph::Graph& graph, const std::string& name, graph::ValueId a, graph::ValueId b);

}  // namespace trainyard::ops
