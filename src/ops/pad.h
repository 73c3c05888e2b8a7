#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct PadAttrs {
  Shape before, after;  // zeros added on each axis
};

extern const graph::OpDef pad_op;

graph::ValueId pad(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& before,
                   const Shape& after);

}  // namespace trainyard::ops
