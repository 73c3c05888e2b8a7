#include "ops/average_pool.h"

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
  node.want_rank(0, 4);
  const Window2d& window = node.attrs<AveragePoolAttrs>().window;
  const Shape& src = node.input_shape(0);
  check_pool_window(node, window, src);
  return {{{src[0], src[1], window.output_h(src[2]), window.output_w(src[3])}, node.dtype()}};
}

Cost cost(const NodeView& node) {
  return elementwise_cost(node, node.attrs<AveragePoolAttrs>().window.area());
}

void gradient(GradientContext& context) {
  context.set(0, context.graph().add(average_pool_d_src_op, context.name("/d_src"), {context.d_output(0)},
                                     AveragePoolGradAttrs{context.node().attrs<AveragePoolAttrs>(),
                                                          context.graph().shape(context.input(0))}));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(1, 1);
  return {{node.attrs<AveragePoolGradAttrs>().src_shape, node.dtype()}};
}

Cost cost_grad(const NodeView& node) {
  return {.elementwise_flops =
              node.input_shape(0).elements() * node.attrs<AveragePoolGradAttrs>().pool.window.area(),
          .bytes_moved = bytes_touched(node)};
}

std::string describe(const NodeView& node) { return node.attrs<AveragePoolAttrs>().window.to_string(); }

std::string describe_grad(const NodeView& node) {
  return node.attrs<AveragePoolGradAttrs>().pool.window.to_string();
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    Shape src;
    AveragePoolAttrs attrs;
  };
  const Problem problems[] = {
      {"2x2", {2, 16, 6, 6}, {square_window(2, 2)}},
      {"3x3_same", {2, 16, 7, 7}, {with_same_padding(square_window(3, 1), 7, 7)}},
      {"3x3_counting_padding", {1, 24, 6, 6}, {square_window(3, 1, 1), true}},
      {"3x3_stride_2_same_even", {2, 5, 8, 8}, {with_same_padding(square_window(3, 2), 8, 8)}},
      {"global", {2, 64, 4, 4}, {square_window(4)}},
      {"7x7_valid", {1, 32, 9, 9}, {square_window(7)}},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     graph.mark_output(average_pool(graph, "y", src, problem.attrs));
                   }});
  return all;
}

}  // namespace

const graph::OpDef average_pool_op{.name = "average_pool",
                                   .infer = infer,
                                   .cost = cost,
                                   .gradient = gradient,
                                   .cases = cases,
                                   .describe = describe,
                                   .category = graph::Category::pool};
const graph::OpDef average_pool_d_src_op{.name = "average_pool_d_src",
                                         .infer = infer_grad,
                                         .cost = cost_grad,
                                         .describe = describe_grad,
                                         .category = graph::Category::pool};

ValueId average_pool(Graph& graph, const std::string& name, ValueId src, const AveragePoolAttrs& attrs) {
  return graph.add(average_pool_op, name, {src}, attrs);
}

ValueId global_average_pool(Graph& graph, const std::string& name, ValueId src) {
  const Shape& shape = graph.shape(src);
  if (shape.rank() != 4)
    fail(ErrorKind::shape, "average_pool '{}': input is {}, wants 4 dimensions", name, shape.to_string());
  return average_pool(graph, name, src, {{.kernel_h = shape[2], .kernel_w = shape[3]}});
}

}  // namespace trainyard::ops
