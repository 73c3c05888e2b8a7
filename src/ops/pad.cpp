#include "ops/pad.h"

#include "ops/slice.h"

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
  const auto& attrs = node.attrs<PadAttrs>();
  Shape padded = node.input_shape(0);
  if (attrs.before.rank() != padded.rank() || attrs.after.rank() != padded.rank())
    node.refuse("padding has {} axes, input {} has {}", attrs.before.rank(), padded.to_string(),
                padded.rank());
  for (int axis = 0; axis < padded.rank(); ++axis) {
    if (attrs.before[axis] < 0 || attrs.after[axis] < 0) node.refuse("padding on axis {} is negative", axis);
    padded[axis] += attrs.before[axis] + attrs.after[axis];
  }
  return {{padded, node.dtype()}};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 0); }

void gradient(GradientContext& context) {
  context.set(0, slice(context.graph(), context.name("/d_src"), context.d_output(0),
                       context.node().attrs<PadAttrs>().before, context.graph().shape(context.input(0))));
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  return fmt::format("before {} after {}", attrs.before.to_string(), attrs.after.to_string());
}

std::vector<Case> cases() {
  const auto problem = [](Shape src, Shape before, Shape after) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {src, dtype}, Initializer::normal(1));
      graph.mark_output(pad(graph, "y", x, before, after));
    };
  };
  return {{"border", problem({2, 16, 4, 4}, {0, 0, 3, 3}, {0, 0, 2, 2})},
          {"channels", problem({2, 5, 3, 3}, {0, 2, 0, 0}, {0, 1, 0, 0})},
          {"matrix", problem({3, 5}, {0, 1}, {1, 0})}};
}

}  // namespace

const graph::OpDef pad_op{.name = "pad",
                          .infer = infer,
                          .cost = cost,
                          .gradient = gradient,
                          .cases = cases,
                          .describe = describe,
                          .category = graph::Category::copy};

ValueId pad(Graph& graph, const std::string& name, ValueId src, const Shape& before, const Shape& after) {
  return graph.add(pad_op, name, {src}, PadAttrs{before, after});
}

}  // namespace trainyard::ops
