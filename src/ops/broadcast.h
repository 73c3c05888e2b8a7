#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// Both ops keep the number of axes; each is the gradient of the other.
struct BroadcastAttrs {
  Shape shape;  // of dst
};

extern const graph::OpDef
    repeat_op;                     // src, some of whose axes have length 1 -> dst, in which they are longer
extern const graph::OpDef sum_op;  // src -> dst, some of whose axes have length 1: summed over those

graph::ValueId repeat(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& shape);
graph::ValueId sum(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& shape);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> broadcast_ops();

}  // namespace trainyard::ops
