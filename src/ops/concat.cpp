#include "ops/concat.h"

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
  if (node.inputs() < 1) node.refuse("got no inputs");
  const int axis = node.attrs<ConcatAttrs>().axis;
  Shape joined = node.input_shape(0);
  if (axis < 0 || axis >= joined.rank()) node.refuse("axis {} is not one of {}", axis, joined.to_string());
  for (int i = 1; i < node.inputs(); ++i) {
    Shape rest = node.input_shape(i);
    if (rest.rank() == joined.rank()) rest[axis] = joined[axis];
    if (!(rest == joined))
      node.refuse("input {} '{}' is {}, wants {} but for axis {}", i, node.input(i).name,
                  node.input_shape(i).to_string(), joined.to_string(), axis);
    joined[axis] += node.input_shape(i)[axis];
  }
  return {{joined, node.dtype()}};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, 0); }

void gradient(GradientContext& context) {
  const int axis = context.node().attrs<ConcatAttrs>().axis;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i) {
    const Shape shape = context.graph().shape(context.node().inputs[i]);
    Shape from = shape;
    for (int a = 0; a < shape.rank(); ++a) from[a] = a == axis ? begin : 0;
    if (context.needs(static_cast<int>(i)))
      context.set(static_cast<int>(i),
                  slice(context.graph(), context.name("/d_part"), context.d_output(0), from, shape));
    begin += shape[axis];
  }
}

std::string describe(const NodeView& node) { return fmt::format("axis {}", node.attrs<ConcatAttrs>().axis); }

std::vector<Case> cases() {
  const auto problem = [](std::vector<std::int64_t> channels, Shape shape, int axis) {
    return [=](Graph& graph, DType dtype) {
      std::vector<ValueId> parts;
      for (std::size_t i = 0; i < channels.size(); ++i) {
        Shape part = shape;
        part[axis] = channels[i];
        parts.push_back(graph.add_input(fmt::format("x{}", i), {part, dtype}, Initializer::normal(1)));
      }
      graph.mark_output(concat(graph, "y", parts, axis));
    };
  };
  return {{"channels", problem({16, 32}, {2, 0, 3, 3}, 1)},
          {"odd_channels", problem({3, 12, 5}, {2, 0, 3, 3}, 1)},
          {"densenet", problem({16, 12, 12}, {2, 0, 4, 4}, 1)},
          {"rows", problem({2, 3}, {2, 4, 0, 3}, 2)},
          {"matrix", problem({2, 3, 4}, {3, 0}, 1)}};
}

}  // namespace

const graph::OpDef concat_op{.name = "concat",
                             .infer = infer,
                             .cost = cost,
                             .gradient = gradient,
                             .cases = cases,
                             .describe = describe,
                             .category = graph::Category::copy};

ValueId concat(Graph& graph, const std::string& name, std::vector<ValueId> parts, int axis) {
  return graph.add(concat_op, name, std::move(parts), ConcatAttrs{axis});
}

}  // namespace trainyard::ops
