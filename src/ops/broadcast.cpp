#include "ops/broadcast.h"

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

// `small` has length 1 on the axes on which the two differ.
bool fits(const Shape& small, const Shape& large) {
  if (small.rank() != large.rank()) return false;
  for (int axis = 0; axis < small.rank(); ++axis)
    if (small[axis] != large[axis] && small[axis] != 1) return false;
  return true;
}

std::vector<TensorType> infer_repeat(const NodeView& node) {
  node.want_inputs(1, 1);
  const Shape& shape = node.attrs<BroadcastAttrs>().shape;
  if (!fits(node.input_shape(0), shape))
    node.refuse("input {} cannot be repeated to {}", node.input_shape(0).to_string(), shape.to_string());
  return {{shape, node.dtype()}};
}

Cost cost_repeat(const NodeView& node) { return elementwise_cost(node, 0); }

void gradient_repeat(GradientContext& context) {
  context.set(0, sum(context.graph(), context.name("/d_src"), context.d_output(0),
                     context.graph().shape(context.input(0))));
}

std::vector<TensorType> infer_sum(const NodeView& node) {
  node.want_inputs(1, 1);
  const Shape& shape = node.attrs<BroadcastAttrs>().shape;
  if (!fits(shape, node.input_shape(0)))
    node.refuse("input {} cannot be summed to {}", node.input_shape(0).to_string(), shape.to_string());
  return {{shape, node.dtype()}};
}

Cost cost_sum(const NodeView& node) {
  return {.elementwise_flops = node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

void gradient_sum(GradientContext& context) {
  context.set(0, repeat(context.graph(), context.name("/d_src"), context.d_output(0),
                        context.graph().shape(context.input(0))));
}

std::string describe(const NodeView& node) {
  return fmt::format("to {}", node.attrs<BroadcastAttrs>().shape.to_string());
}

struct Problem {
  const char* name;
  Shape small, large;
};

const Problem kProblems[] = {
    {"pixels", {2, 16, 1, 1}, {2, 16, 3, 5}},
    {"pixels_of_odd_channels", {3, 7, 1, 1}, {3, 7, 4, 4}},
    {"channels_of_all", {1, 24, 1, 1}, {2, 24, 3, 3}},
    {"one_channel", {2, 1, 3, 5}, {2, 9, 3, 5}},
    {"rows", {1, 37}, {300, 37}},
    {"wide_rows", {1, 700}, {5, 700}},
    {"columns", {70, 1}, {70, 33}},
    {"all", {1, 1}, {40, 50}},
    {"outer_and_middle", {1, 4, 1, 5}, {3, 4, 2, 5}},
    {"five_axes", {2, 1, 3, 1, 2}, {2, 4, 3, 2, 2}},
    {"nothing", {4, 6}, {4, 6}},
};

template <ValueId (*op)(Graph&, const std::string&, ValueId, const Shape&), bool sums>
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Problem& problem : kProblems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const Shape &from = sums ? problem.large : problem.small,
                                 &to = sums ? problem.small : problem.large;
                     const ValueId src = graph.add_input("src", {from, dtype}, Initializer::normal(1));
                     graph.mark_output(op(graph, "y", src, to));
                   }});
  return all;
}

}  // namespace

const graph::OpDef repeat_op{.name = "repeat",
                             .infer = infer_repeat,
                             .cost = cost_repeat,
                             .gradient = gradient_repeat,
                             .cases = cases<repeat, false>,
                             .describe = describe,
                             .category = graph::Category::copy};
const graph::OpDef sum_op{.name = "sum",
                          .infer = infer_sum,
                          .cost = cost_sum,
                          .gradient = gradient_sum,
                          .cases = cases<sum, true>,
                          .describe = describe};

ValueId repeat(Graph& graph, const std::string& name, ValueId src, const Shape& shape) {
  return graph.add(repeat_op, name, {src}, BroadcastAttrs{shape});
}

ValueId sum(Graph& graph, const std::string& name, ValueId src, const Shape& shape) {
  return graph.add(sum_op, name, {src}, BroadcastAttrs{shape});
}

std::vector<const graph::OpDef*> broadcast_ops() { return {&repeat_op, &sum_op}; }

}  // namespace trainyard::ops
