#include "ops/multiply.h"

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
  node.want_inputs(2, 2);
  if (!(node.input(0).type == node.input(1).type))
    node.refuse("inputs are {} and {}, want equal shapes", node.input(0).type.to_string(),
                node.input(1).type.to_string());
  return {node.input(0).type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient(GradientContext& context) {
  for (int i = 0; i < 2; ++i)
    if (context.needs(i))
      context.set(i, multiply(context.graph(), context.name(i == 0 ? "/d_a" : "/d_b"), context.d_output(0),
                              context.input(1 - i)));
}

std::vector<Case> cases() {
  const auto problem = [](Shape shape) {
    return [=](Graph& graph, DType dtype) {
      const ValueId a = graph.add_input("a", {shape, dtype}, Initializer::normal(1));
      const ValueId b = graph.add_input("b", {shape, dtype}, Initializer::normal(1));
      graph.mark_output(multiply(graph, "y", a, b));
    };
  };
  return {{"matrix", problem({3, 21})}, {"image", problem({2, 16, 3, 3})}};
}

}  // namespace

const graph::OpDef multiply_op{
    .name = "multiply", .infer = infer, .cost = cost, .gradient = gradient, .cases = cases};

ValueId multiply(Graph& graph, const std::string& name, ValueId a, ValueId b) {
  return graph.add(multiply_op, name, {a, b});
}

}  // namespace trainyard::ops
