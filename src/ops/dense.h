#pragma once

#include "graph/op_def.h"
#include "ops/activation.h"

namespace trainyard::ops {

struct DenseAttrs {
  ActivationAttrs activation{Activation::none};  // set by the fusion pass
};

// src (N, ...), weight (O, ...) with the same trailing dimensions, bias (O) or none -> dst (N, O).
// An image is taken as it is, without a flatten node, so that it keeps the layout its producer chose.
extern const graph::OpDef dense_op;

struct DenseGradAttrs {
  Shape shape;        // of the gradient to make: src, or weight
  bool bias = false;  // d_weight only: also make d_bias
};
extern const graph::OpDef dense_d_src_op;     // (d_dst, weight) -> d_src
extern const graph::OpDef dense_d_weight_op;  // (d_dst, src) -> d_weight [, d_bias]

// bias may be graph::kNone.
graph::ValueId dense(graph::Graph& graph, const std::string& name, graph::ValueId src, graph::ValueId weight,
                     graph::ValueId bias, const DenseAttrs& attrs = {});

}  // namespace trainyard::ops
