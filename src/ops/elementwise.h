#pragma once

#include "graph/op_def.h"
#include "ops/device_attrs.h"

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

struct AddAttrs {
  ActivationAttrs activation{Activation::none};  // set by the fusion pass
  // Set by the fusion pass on sums of gradients: let through only where the last input > 0 (it is not
  // summed).
  bool mask_by_last = false;
};

extern const graph::OpDef add_op;  // any number of equal shapes -> their sum

graph::ValueId add(graph::Graph& graph, const std::string& name, std::vector<graph::ValueId> terms);

extern const graph::OpDef multiply_op;  // two equal shapes -> their product, element by element

graph::ValueId multiply(graph::Graph& graph, const std::string& name, graph::ValueId a, graph::ValueId b);

struct ScaleAttrs {
  double factor = 1;
};

extern const graph::OpDef scale_op;  // src -> factor * src

graph::ValueId scale(graph::Graph& graph, const std::string& name, graph::ValueId src, double factor);

struct DropoutAttrs {
  double rate = 0.5;         // share of elements set to zero; the rest is scaled by 1 / (1 - rate)
  std::uint64_t stream = 0;  // which random stream; the gradient is the same op with the same stream
};

// The mask follows from (seed, step, stream, logical element index) alone, so nothing is saved.
extern const graph::OpDef dropout_op;

graph::ValueId dropout(graph::Graph& graph, const std::string& name, graph::ValueId src, double rate);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> elementwise_ops();

}  // namespace trainyard::ops
