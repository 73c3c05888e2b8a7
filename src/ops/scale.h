#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct ScaleAttrs {
  double factor = 1;
};

extern const graph::OpDef scale_op;  // src -> factor * src

graph::ValueId scale(graph::Graph& graph, const std::string& name, graph::ValueId src, double factor);

}  // namespace trainyard::ops
