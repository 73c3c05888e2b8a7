#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// Every one of these has a derivative that follows from its output alone, so a fused producer need not keep
// the input.
enum class Activation : std::uint8_t { none, relu, relu6, leaky_relu, sigmoid, tanh };

const char* name(Activation kind);

struct ActivationAttrs {
  Activation kind = Activation::relu;
  double slope = 0.2;  // of leaky_relu below zero
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
