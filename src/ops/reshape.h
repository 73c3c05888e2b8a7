#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct ReshapeAttrs {
  Shape shape;
};

extern const graph::OpDef reshape_op;  // the same elements, in logical order, under another shape

graph::ValueId reshape(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& shape);
graph::ValueId flatten(graph::Graph& graph, const std::string& name,
                       graph::ValueId src);  // (N, all the rest)

}  // namespace trainyard::ops
