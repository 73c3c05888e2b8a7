#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

extern const graph::OpDef softmax_op;       // src (N, K) -> each row's exponentials over their sum
extern const graph::OpDef softmax_grad_op;  // (d_dst, dst) -> d_src

graph::ValueId softmax(graph::Graph& graph, const std::string& name, graph::ValueId src);

}  // namespace trainyard::ops
