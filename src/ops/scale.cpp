#include "ops/scale.h"

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
  context.set(0, scale(context.graph(), context.name("/d_src"), context.d_output(0),
                       context.node().attrs<ScaleAttrs>().factor));
}

std::string describe(const NodeView& node) { return fmt::format("{}", node.attrs<ScaleAttrs>().factor); }

std::vector<Case> cases() {
  return {{"image", [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 16, 3, 3}, dtype}, Initializer::normal(1));
             graph.mark_output(scale(graph, "y", x, 0.17));
           }}};
}

}  // namespace

const graph::OpDef scale_op{.name = "scale",
                            .infer = infer,
                            .cost = cost,
                            .gradient = gradient,
                            .cases = cases,
                            .describe = describe};

ValueId scale(Graph& graph, const std::string& name, ValueId src, double factor) {
  return graph.add(scale_op, name, {src}, ScaleAttrs{factor});
}

}  // namespace trainyard::ops
