#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"

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

// Dense layers of one width, each on the output of the one before, as one node: where they are small, their
// cost is the start of each kernel. The planner makes it of dense nodes and their gradients.
struct DenseChainAttrs {
  ActivationAttrs activation{Activation::relu};  // of every layer
  bool all_outputs = true;                       // false: nobody wants more than the last
};

// src (N, W), then weight (W, W) and bias (W) of each layer -> dst (N, W) of each layer, or of the last
extern const graph::OpDef dense_chain_op;

struct DenseChainGradAttrs {
  ActivationAttrs activation{Activation::relu};
  int layers = 0;
  bool d_src = false;  // whether the gradient of src is wanted, too
};
// d_sum of the last layer (N, W): the gradient of what its activation was applied to; weights of all layers;
// dst of all but the last -> d_sum of all but the last [, d_src]
extern const graph::OpDef dense_chain_d_src_op;
// d_sum of all layers, src, dst of all but the last -> d_weight and d_bias of each layer
extern const graph::OpDef dense_chain_d_weight_op;

// Returns the number of layers of a dense_chain node.
int chain_layers(const graph::NodeView& node);

// The update of a dense layer, which computes the gradients itself, because no other node reads them. The
// planner makes it of dense_d_weight and a part of update; its attributes are UpdateAttrs. d_dst (N, O), src
// (N, ...), weight (O, ...), bias (O), slot 0 of both, slot 1 of both, ... [, copy of weight] -> nothing;
// changes parameters, slots and copy.
extern const graph::OpDef dense_update_op;

// The lists name every op above, by source, for the registry.
std::vector<const graph::OpDef*> dense_ops();
std::vector<const graph::OpDef*> dense_chain_ops();

}  // namespace trainyard::ops
