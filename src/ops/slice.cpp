#include "ops/slice.h"

#include "ops/pad.h"

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
  const auto& attrs = node.attrs<SliceAttrs>();
  const Shape& src = node.input_shape(0);
  bool inside = attrs.begin.rank() == src.rank() && attrs.size.rank() == src.rank();
  for (int axis = 0; inside && axis < src.rank(); ++axis)
    inside = attrs.begin[axis] >= 0 && attrs.begin[axis] + attrs.size[axis] <= src[axis];
  if (!inside)
    node.refuse("box {} at {} is not inside input {}", attrs.size.to_string(), attrs.begin.to_string(),
                src.to_string());
  return {{attrs.size, node.dtype()}};
}

Cost cost(const NodeView& node) { return {.bytes_moved = 2 * node.output(0).type.bytes()}; }

void gradient(GradientContext& context) {
  const auto& attrs = context.node().attrs<SliceAttrs>();
  const Shape src = context.graph().shape(context.input(0));
  Shape after = src;
  for (int axis = 0; axis < src.rank(); ++axis)
    after[axis] = src[axis] - attrs.begin[axis] - attrs.size[axis];
  context.set(0, pad(context.graph(), context.name("/d_src"), context.d_output(0), attrs.begin, after));
}

std::string describe(const NodeView& node) {
  return fmt::format("at {}", node.attrs<SliceAttrs>().begin.to_string());
}

std::vector<Case> cases() {
  const auto problem = [](Shape src, Shape begin, Shape size) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {src, dtype}, Initializer::normal(1));
      graph.mark_output(slice(graph, "y", x, begin, size));
    };
  };
  return {{"channels", problem({2, 32, 3, 3}, {0, 16, 0, 0}, {2, 16, 3, 3})},
          {"odd_channels", problem({2, 11, 3, 3}, {0, 3, 0, 0}, {2, 5, 3, 3})},
          {"crop", problem({2, 4, 6, 7}, {0, 0, 1, 2}, {2, 4, 4, 3})},
          {"matrix", problem({3, 9}, {1, 2}, {2, 5})}};
}

}  // namespace

const graph::OpDef slice_op{.name = "slice",
                            .infer = infer,
                            .cost = cost,
                            .gradient = gradient,
                            .cases = cases,
                            .describe = describe,
                            .category = graph::Category::copy};

ValueId slice(Graph& graph, const std::string& name, ValueId src, const Shape& begin, const Shape& size) {
  return graph.add(slice_op, name, {src}, SliceAttrs{begin, size});
}

}  // namespace trainyard::ops
