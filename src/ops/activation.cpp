#include "ops/activation.h"

namespace trainyard::ops {
namespace {

using graph::Case;
using graph::Cost;
using graph::GradientContext;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(1, 1);
  return {node.input(0).type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient(GradientContext& context) {
  context.set(0, activation_grad(context.graph(), context.name("/d_src"), context.d_output(0),
                                 context.output(0), context.node().attrs<ActivationAttrs>()));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(2, 2);
  if (!(node.input(0).type == node.input(1).type))
    node.refuse("gradient is {}, output is {}", node.input(0).type.to_string(),
                node.input(1).type.to_string());
  return {node.input(0).type};
}

std::string describe(const NodeView& node) { return name(node.attrs<ActivationAttrs>().kind); }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Activation kind :
       {Activation::relu, Activation::relu6, Activation::leaky_relu, Activation::sigmoid, Activation::tanh}) {
    for (const Shape& shape : {Shape{4, 37}, Shape{2, 16, 5, 3}}) {
      all.push_back(
          {std::string(name(kind)) + "_" + shape.to_string(), [kind, shape](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {shape, dtype}, Initializer::uniform(-4, 8));
             graph.mark_output(activation(graph, "y", x, {kind}));
           }});
    }
  }
  return all;
}

}  // namespace

const char* name(Activation kind) {
  switch (kind) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::relu6:
      return "relu6";
    case Activation::leaky_relu:
      return "leaky_relu";
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::tanh:
      return "tanh";
  }
  return "?";
}

const graph::OpDef activation_op{.name = "activation",
                                 .infer = infer,
                                 .cost = cost,
                                 .gradient = gradient,
                                 .cases = cases,
                                 .describe = describe};
const graph::OpDef activation_grad_op{
    .name = "activation_grad", .infer = infer_grad, .cost = cost, .describe = describe};

ValueId activation(Graph& graph, const std::string& name, ValueId src, ActivationAttrs attrs) {
  return graph.add(activation_op, name, {src}, attrs);
}

ValueId activation_grad(Graph& graph, const std::string& name, ValueId d_dst, ValueId dst,
                        ActivationAttrs attrs) {
  return graph.add(activation_grad_op, name, {d_dst, dst}, attrs);
}

std::string fused_text(Activation kind) {
  return kind == Activation::none ? "" : std::string(" + ") + name(kind);
}

}  // namespace trainyard::ops
