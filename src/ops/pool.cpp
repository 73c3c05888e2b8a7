#include "ops/pool.h"

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

std::vector<TensorType> infer_max_pool(const NodeView& node) {
  node.want_inputs(1, 1);
  node.want_rank(0, 4);
  const Window2d& window = node.attrs<MaxPoolAttrs>().window;
  const Shape& src = node.input_shape(0);
  check_pool_window(node, window, src);
  if (window.area() > 256) node.refuse("window {} has more than 256 places", window.to_string());
  const Shape dst{src[0], src[1], window.output_h(src[2]), window.output_w(src[3])};
  return {{dst, node.dtype()}, {dst, DType::u8}};
}

Cost cost_max_pool(const NodeView& node) {
  return elementwise_cost(node, node.attrs<MaxPoolAttrs>().window.area());
}

void gradient_max_pool(GradientContext& context) {
  const auto& attrs = context.node().attrs<MaxPoolAttrs>();
  context.set(0, context.graph().add(
                     max_pool_d_src_op, context.name("/d_src"), {context.d_output(0), context.output(1)},
                     MaxPoolGradAttrs{attrs.window, context.graph().shape(context.input(0)), false}));
}

std::vector<TensorType> infer_grad_max_pool(const NodeView& node) {
  const auto& attrs = node.attrs<MaxPoolGradAttrs>();
  node.want_inputs(attrs.mask_by_dst ? 3 : 2, attrs.mask_by_dst ? 3 : 2);
  return {{attrs.src_shape, node.dtype()}};
}

Cost cost_grad_max_pool(const NodeView& node) {
  return {.elementwise_flops = node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

std::string describe_max_pool(const NodeView& node) { return node.attrs<MaxPoolAttrs>().window.to_string(); }

std::string describe_grad_max_pool(const NodeView& node) {
  const auto& attrs = node.attrs<MaxPoolGradAttrs>();
  return attrs.window.to_string() + (attrs.mask_by_dst ? " + relu mask" : "");
}

std::vector<Case> cases_max_pool() {
  struct Problem {
    const char* name;
    Shape src;
    Window2d window;
  };
  const Problem problems[] = {
      {"2x2", {2, 16, 6, 6}, square_window(2, 2)},
      {"2x2_odd_channels", {2, 5, 4, 6}, square_window(2, 2)},
      {"3x3_stride_2_ceil", {2, 16, 8, 8}, with_ceil(square_window(3, 2), 8, 8)},
      {"3x3_stride_2_same", {2, 64, 12, 12}, with_same_padding(square_window(3, 2), 12, 12)},
      {"3x3_stride_2_same_odd", {1, 32, 7, 7}, with_same_padding(square_window(3, 2), 7, 7)},
      {"3x3_stride_1_pad_1", {1, 16, 5, 5}, square_window(3, 1, 1)},
      {"3x3_stride_2_pad_1", {2, 8, 7, 7}, square_window(3, 2, 1)},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     graph.mark_output(max_pool(graph, "y", src, problem.window));
                   }});
  // The fusion pass turns this case into a masked gradient.
  all.push_back({"relu_then_pool", [](Graph& graph, DType dtype) {
                   const ValueId src = graph.add_input("src", {{2, 16, 6, 6}, dtype}, Initializer::normal(1));
                   graph.mark_output(max_pool(graph, "y", relu(graph, "r", src), square_window(2, 2)));
                 }});
  return all;
}

}  // namespace

const graph::OpDef max_pool_op{.name = "max_pool",
                               .infer = infer_max_pool,
                               .cost = cost_max_pool,
                               .gradient = gradient_max_pool,
                               .cases = cases_max_pool,
                               .describe = describe_max_pool,
                               .category = graph::Category::pool};
const graph::OpDef max_pool_d_src_op{.name = "max_pool_d_src",
                                     .infer = infer_grad_max_pool,
                                     .cost = cost_grad_max_pool,
                                     .describe = describe_grad_max_pool,
                                     .lowering = graph::Lowering::mixed,
                                     .category = graph::Category::pool};

ValueId max_pool(Graph& graph, const std::string& name, ValueId src, const Window2d& window) {
  return graph.add(max_pool_op, name, {src}, MaxPoolAttrs{window});
}

namespace {

std::vector<TensorType> infer_average_pool(const NodeView& node) {
  node.want_inputs(1, 1);
  node.want_rank(0, 4);
  const Window2d& window = node.attrs<AveragePoolAttrs>().window;
  const Shape& src = node.input_shape(0);
  check_pool_window(node, window, src);
  return {{{src[0], src[1], window.output_h(src[2]), window.output_w(src[3])}, node.dtype()}};
}

Cost cost_average_pool(const NodeView& node) {
  return elementwise_cost(node, node.attrs<AveragePoolAttrs>().window.area());
}

void gradient_average_pool(GradientContext& context) {
  context.set(0, context.graph().add(average_pool_d_src_op, context.name("/d_src"), {context.d_output(0)},
                                     AveragePoolGradAttrs{context.node().attrs<AveragePoolAttrs>(),
                                                          context.graph().shape(context.input(0))}));
}

std::vector<TensorType> infer_grad_average_pool(const NodeView& node) {
  node.want_inputs(1, 1);
  return {{node.attrs<AveragePoolGradAttrs>().src_shape, node.dtype()}};
}

Cost cost_grad_average_pool(const NodeView& node) {
  return {.elementwise_flops =
              node.input_shape(0).elements() * node.attrs<AveragePoolGradAttrs>().pool.window.area(),
          .bytes_moved = bytes_touched(node)};
}

std::string describe_average_pool(const NodeView& node) {
  return node.attrs<AveragePoolAttrs>().window.to_string();
}

std::string describe_grad_average_pool(const NodeView& node) {
  return node.attrs<AveragePoolGradAttrs>().pool.window.to_string();
}

std::vector<Case> cases_average_pool() {
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
                                   .infer = infer_average_pool,
                                   .cost = cost_average_pool,
                                   .gradient = gradient_average_pool,
                                   .cases = cases_average_pool,
                                   .describe = describe_average_pool,
                                   .category = graph::Category::pool};
const graph::OpDef average_pool_d_src_op{.name = "average_pool_d_src",
                                         .infer = infer_grad_average_pool,
                                         .cost = cost_grad_average_pool,
                                         .describe = describe_grad_average_pool,
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

namespace {

std::int64_t checked_factor(const NodeView& node) {
  node.want_inputs(1, 1);
  node.want_rank(0, 4);
  const std::int64_t factor = node.attrs<UpsampleAttrs>().factor;
  if (factor < 1) node.refuse("factor {} is not 1 or more", factor);
  return factor;
}

std::vector<TensorType> infer_upsample(const NodeView& node) {
  const std::int64_t factor = checked_factor(node);
  const Shape& src = node.input_shape(0);
  return {{{src[0], src[1], factor * src[2], factor * src[3]}, node.dtype()}};
}

Cost cost_upsample(const NodeView& node) { return {.bytes_moved = bytes_touched(node)}; }

void gradient_upsample(GradientContext& context) {
  context.set(0, context.graph().add(upsample_d_src_op, context.name("/d_src"), {context.d_output(0)},
                                     context.node().attributes));
}

std::vector<TensorType> infer_grad_upsample(const NodeView& node) {
  const std::int64_t factor = checked_factor(node);
  const Shape& d_dst = node.input_shape(0);
  if (d_dst[2] % factor != 0 || d_dst[3] % factor != 0)
    node.refuse("an image of {} is not one of squares of {}", d_dst.to_string(), factor);
  return {{{d_dst[0], d_dst[1], d_dst[2] / factor, d_dst[3] / factor}, node.dtype()}};
}

Cost cost_grad_upsample(const NodeView& node) {
  return {.elementwise_flops = node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

std::string describe_upsample(const NodeView& node) {
  return fmt::format("{0}x{0}", node.attrs<UpsampleAttrs>().factor);
}

std::vector<Case> cases_upsample() {
  struct Problem {
    const char* name;
    Shape src;
    std::int64_t factor;
  };
  const Problem problems[] = {{"twice", {2, 16, 5, 4}, 2},    {"odd_channels", {3, 7, 3, 5}, 2},
                              {"wide", {1, 256, 10, 10}, 2},  {"three_times", {2, 24, 4, 3}, 3},
                              {"one_pixel", {2, 8, 1, 1}, 2}, {"as_it_is", {1, 5, 3, 3}, 1}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     graph.mark_output(upsample(graph, "y", src, {problem.factor}));
                   }});
  return all;
}

}  // namespace

const graph::OpDef upsample_op{.name = "upsample",
                               .infer = infer_upsample,
                               .cost = cost_upsample,
                               .gradient = gradient_upsample,
                               .cases = cases_upsample,
                               .describe = describe_upsample,
                               .category = graph::Category::pool};
const graph::OpDef upsample_d_src_op{.name = "upsample_d_src",
                                     .infer = infer_grad_upsample,
                                     .cost = cost_grad_upsample,
                                     .describe = describe_upsample,
                                     .category = graph::Category::pool};

ValueId upsample(Graph& graph, const std::string& name, ValueId src, const UpsampleAttrs& attrs) {
  return graph.add(upsample_op, name, {src}, attrs);
}

std::vector<const graph::OpDef*> pool_ops() {
  return {&max_pool_op,           &max_pool_d_src_op, &average_pool_op,
          &average_pool_d_src_op, &upsample_op,       &upsample_d_src_op};
}

}  // namespace trainyard::ops
