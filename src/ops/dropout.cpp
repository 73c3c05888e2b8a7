#include "ops/dropout.h"

#include "base/philox.h"

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
  const double rate = node.attrs<DropoutAttrs>().rate;
  if (!(rate >= 0 && rate < 1)) node.refuse("rate {} is not in [0, 1)", rate);
  return {node.input(0).type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient(GradientContext& context) {
  context.set(0, context.graph().add(dropout_op, context.name("/d_src"), {context.d_output(0)},
                                     context.node().attributes));
}

std::string describe(const NodeView& node) { return fmt::format("rate {}", node.attrs<DropoutAttrs>().rate); }

std::vector<Case> cases() {
  const auto problem = [](Shape shape, double rate) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {shape, dtype}, Initializer::normal(1));
      graph.mark_output(dropout(graph, "y", x, rate));
    };
  };
  return {{"half", problem({8, 67}, 0.5)}, {"fifth_of_image", problem({2, 5, 3, 3}, 0.2)}};
}

}  // namespace

const graph::OpDef dropout_op{.name = "dropout",
                              .infer = infer,
                              .cost = cost,
                              .gradient = gradient,
                              .cases = cases,
                              .describe = describe};

ValueId dropout(Graph& graph, const std::string& name, ValueId src, double rate) {
  return graph.add(dropout_op, name, {src}, DropoutAttrs{rate, stream_of(name.c_str())});
}

}  // namespace trainyard::ops
