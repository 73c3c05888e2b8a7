#include "ops/softmax.h"

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
  node.want_inputs(1, 2);
  node.want_rank(0, 2);
  return {node.input(0).type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 4); }

void gradient(GradientContext& context) {
  context.set(0, context.graph().add(softmax_grad_op, context.name("/d_src"),
                                     {context.d_output(0), context.output(0)}));
}

std::vector<Case> cases() {
  const auto problem = [](Shape shape) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {shape, dtype}, Initializer::normal(3));
      graph.mark_output(softmax(graph, "y", x));
    };
  };
  return {{"ten", problem({4, 10})}, {"thousand", problem({2, 1001})}, {"one", problem({3, 1})}};
}

}  // namespace

const graph::OpDef softmax_op{.name = "softmax",
                              .infer = infer,
                              .cost = cost,
                              .gradient = gradient,
                              .cases = cases,
                              .lowering = graph::Lowering::exact};
const graph::OpDef softmax_grad_op{
    .name = "softmax_grad", .infer = infer, .cost = cost, .lowering = graph::Lowering::exact};

ValueId softmax(Graph& graph, const std::string& name, ValueId src) {
  return graph.add(softmax_op, name, {src});
}

}  // namespace trainyard::ops
