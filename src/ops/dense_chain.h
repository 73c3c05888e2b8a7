#pragma once

#include "graph/op_def.h"
#include "ops/activation.h"

namespace trainyard::ops {

// Dense layers of one width, each on the output of the one before, as one node: where they are small, what
// they cost is to start each. Made by the planner of dense nodes and their gradients.
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

// How many layers a dense_chain node has.
int chain_layers(const graph::NodeView& node);

}  // namespace trainyard::ops
