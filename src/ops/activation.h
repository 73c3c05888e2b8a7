#pragma once

#include "graph/op_def.h"
#include "ops/activation_kind.h"

namespace trainyard::ops {

const char* name(Activation kind);

struct ActivationAttrs {
  Activation kind = Activation::relu;
  double slope = 0.2;         // of leaky_relu below zero
  double gradient_scale = 1;  // set by the fusion pass: the gradient also takes over that of a dropout
};

extern const graph::OpDef activation_op;       // (src) -> dst
extern const graph::OpDef activation_grad_op;  // (d_dst, dst) -> d_src

graph::ValueId activation(graph::Graph& graph, const std::string& name, graph::ValueId src,
                          ActivationAttrs attrs);
inline graph::ValueId relu(graph::Graph& graph, const std::string& name, graph::ValueId src) {
  return activation(graph, name, src, {Activation::relu});
}
graph::ValueId activation_grad(graph::Graph& graph, const std::string& name, graph::ValueId d_dst,
                               graph::ValueId dst, ActivationAttrs attrs);

// " + relu" or "", for descriptions of fused nodes.
std::string fused_text(Activation kind);

}  // namespace trainyard::ops
