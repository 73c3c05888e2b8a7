#include "ops/fill.h"

namespace trainyard::ops {
namespace {

using graph::Case;
using graph::Cost;
using graph::Graph;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(0, 0);
  return {node.attrs<FillAttrs>().type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 0); }

std::string describe(const NodeView& node) { return fmt::format("{}", node.attrs<FillAttrs>().value); }

std::vector<Case> cases() {
  return {{"matrix", [](Graph& graph, DType dtype) {
             graph.mark_output(fill(graph, "y", {{3, 4}, dtype}, 2.5));
           }}};
}

}  // namespace

const graph::OpDef fill_op{.name = "fill",
                           .infer = infer,
                           .cost = cost,
                           .cases = cases,
                           .describe = describe,
                           .category = graph::Category::copy};

ValueId fill(Graph& graph, const std::string& name, const TensorType& type, double value) {
  return graph.add(fill_op, name, {}, FillAttrs{type, value});
}

}  // namespace trainyard::ops
