#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct FillAttrs {
  graph::TensorType type;
  double value = 0;
};

extern const graph::OpDef fill_op;  // no input -> a tensor of one value

graph::ValueId fill(graph::Graph& graph, const std::string& name, const graph::TensorType& type,
                    double value);

}  // namespace trainyard::ops
