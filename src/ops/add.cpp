#include "ops/add.h"

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
  const int masks = node.attrs<AddAttrs>().mask_by_last ? 1 : 0;
  if (node.inputs() < 1 + masks) node.refuse("got {} inputs, wants at least {}", node.inputs(), 1 + masks);
  for (int i = 1; i < node.inputs(); ++i)
    if (!(node.input(i).type == node.input(0).type))
      node.refuse("input {} '{}' is {}, input 0 is {}", i, node.input(i).name, node.input(i).type.to_string(),
                  node.input(0).type.to_string());
  return {node.input(0).type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, node.inputs() - 1); }

void gradient(GradientContext& context) {
  const auto& attrs = context.node().attrs<AddAttrs>();
  TRAINYARD_CHECK(!attrs.mask_by_last);
  ValueId d_dst = context.d_output(0);
  if (attrs.activation.kind != Activation::none)
    d_dst = activation_grad(context.graph(), context.name("/d_activation"), d_dst, context.output(0),
                            attrs.activation);
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i) context.set(static_cast<int>(i), d_dst);
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<AddAttrs>();
  return (attrs.mask_by_last ? "relu mask" : "") + fused_text(attrs.activation.kind);
}

std::vector<Case> cases() {
  const auto problem = [](int terms, Shape shape, Activation activation) {
    return [=](Graph& graph, DType dtype) {
      std::vector<ValueId> inputs;
      for (int i = 0; i < terms; ++i)
        inputs.push_back(graph.add_input(fmt::format("x{}", i), {shape, dtype}, Initializer::normal(1)));
      graph.mark_output(graph.add(add_op, "y", inputs, AddAttrs{{activation}}));
    };
  };
  return {{"two", problem(2, {2, 16, 3, 3}, Activation::none)},
          {"two_relu", problem(2, {2, 16, 3, 3}, Activation::relu)},
          {"three_odd", problem(3, {2, 5, 3, 3}, Activation::none)},
          {"two_scalars", problem(2, {}, Activation::none)},
          // The same value twice: its gradient is summed, and the mask of the ReLU joins that sum.
          {"relu_used_twice", [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 16, 4, 4}, dtype}, Initializer::normal(1));
             const ValueId r = relu(graph, "r", x);
             const ValueId t = activation(graph, "t", r, {Activation::tanh});
             graph.mark_output(add(graph, "y", {r, t}));
           }}};
}

}  // namespace

const graph::OpDef add_op{
    .name = "add", .infer = infer, .cost = cost, .gradient = gradient, .cases = cases, .describe = describe};

ValueId add(Graph& graph, const std::string& name, std::vector<ValueId> terms) {
  return graph.add(add_op, name, std::move(terms), AddAttrs{});
}

}  // namespace trainyard::ops
