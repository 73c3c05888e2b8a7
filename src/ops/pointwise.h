#pragma once

#include "graph/op_def.h"
#include "ops/pointwise_values.h"

namespace trainyard::ops {

const char* name(PointwiseKind kind);

// src, any shape -> dst, a function of each number. Unlike those of an activation its slope follows from the
// input, which the backward pass keeps.
extern const graph::OpDef pointwise_op;
extern const graph::OpDef pointwise_grad_op;  // (d_dst, src) -> d_src

graph::ValueId pointwise(graph::Graph& graph, const std::string& name, graph::ValueId src,
                         const PointwiseAttrs& attrs);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> pointwise_ops();

}  // namespace trainyard::ops
