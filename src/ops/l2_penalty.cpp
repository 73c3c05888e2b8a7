#include "ops/l2_penalty.h"

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
  if (node.inputs() < 1) node.refuse("got no weights");
  return {{{}, node.dtype()}};
}

Cost cost(const NodeView& node) {
  std::int64_t elements = 0;
  for (int i = 0; i < node.inputs(); ++i) elements += node.input_shape(i).elements();
  return {.elementwise_flops = 2 * elements, .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i)
    if (context.needs(static_cast<int>(i)))
      context.set(static_cast<int>(i), context.graph().add(l2_penalty_grad_op, context.name("/d_weight"),
                                                           {context.d_output(0), context.node().inputs[i]},
                                                           context.node().attributes));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(2, 2);
  return {node.input(1).type};
}

Cost cost_grad(const NodeView& node) { return elementwise_cost(node, 1); }

std::string describe(const NodeView& node) {
  return fmt::format("{}", node.attrs<L2PenaltyAttrs>().coefficient);
}

std::vector<Case> cases() {
  return {{"two_weights", [](Graph& graph, DType dtype) {
             const ValueId a = graph.add_parameter("a", {{12, 7}, dtype}, Initializer::normal(1));
             const ValueId b = graph.add_parameter("b", {{4, 3, 3, 3}, dtype}, Initializer::normal(1));
             graph.mark_output(l2_penalty(graph, "penalty", {a, b}, 0.004));
           }}};
}

}  // namespace

const graph::OpDef l2_penalty_op{.name = "l2_penalty",
                                 .infer = infer,
                                 .cost = cost,
                                 .gradient = gradient,
                                 .cases = cases,
                                 .describe = describe,
                                 .lowering = graph::Lowering::exact,
                                 .category = graph::Category::loss};
const graph::OpDef l2_penalty_grad_op{.name = "l2_penalty_grad",
                                      .infer = infer_grad,
                                      .cost = cost_grad,
                                      .describe = describe,
                                      .lowering = graph::Lowering::exact,
                                      .category = graph::Category::loss};

ValueId l2_penalty(Graph& graph, const std::string& name, std::vector<ValueId> weights, double coefficient) {
  return graph.add(l2_penalty_op, name, std::move(weights), L2PenaltyAttrs{coefficient});
}

}  // namespace trainyard::ops
