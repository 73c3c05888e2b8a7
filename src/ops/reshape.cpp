#include "ops/reshape.h"

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
  const Shape& shape = node.attrs<ReshapeAttrs>().shape;
  if (shape.elements() != node.input_shape(0).elements())
    node.refuse("input {} has {} elements, {} wants {}", node.input_shape(0).to_string(),
                node.input_shape(0).elements(), shape.to_string(), shape.elements());
  return {{shape, node.dtype()}};
}

Cost cost(const NodeView&) { return {}; }

void gradient(GradientContext& context) {
  context.set(0, reshape(context.graph(), context.name("/d_src"), context.d_output(0),
                         context.graph().shape(context.input(0))));
}

std::vector<Case> cases() {
  return {{"flatten",
           [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 16, 3, 3}, dtype}, Initializer::normal(1));
             graph.mark_output(flatten(graph, "y", x));
           }},
          {"split_channels", [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 6, 2, 2}, dtype}, Initializer::normal(1));
             graph.mark_output(reshape(graph, "y", x, {2, 2, 3, 4}));
           }}};
}

}  // namespace

const graph::OpDef reshape_op{.name = "reshape",
                              .infer = infer,
                              .cost = cost,
                              .gradient = gradient,
                              .cases = cases,
                              .category = graph::Category::copy};

ValueId reshape(Graph& graph, const std::string& name, ValueId src, const Shape& shape) {
  return graph.add(reshape_op, name, {src}, ReshapeAttrs{shape});
}

ValueId flatten(Graph& graph, const std::string& name, ValueId src) {
  const Shape& shape = graph.shape(src);
  return reshape(graph, name, src, {shape[0], shape.elements_from(1)});
}

}  // namespace trainyard::ops
