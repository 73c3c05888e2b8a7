#include "ops/conv2d.h"

namespace trainyard::ops {
namespace {

using graph::Case;
using graph::Cost;
using graph::GradientContext;
using graph::Graph;
using graph::Initializer;
using graph::kNone;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(2, 3);
  node.want_rank(0, 4);
  node.want_rank(1, 4);
  const auto& attrs = node.attrs<Conv2dAttrs>();
  const Shape &src = node.input_shape(0), &weight = node.input_shape(1);
  if (attrs.groups < 1 || src[1] % attrs.groups != 0)
    node.refuse("groups {} does not divide input channels {}", attrs.groups, src[1]);
  if (weight[0] % attrs.groups != 0)
    node.refuse("groups {} does not divide output channels {}", attrs.groups, weight[0]);
  const Window2d& window = attrs.window;
  if (weight[1] != src[1] / attrs.groups || weight[2] != window.kernel_h || weight[3] != window.kernel_w)
    node.refuse("weight is {}, wants {}x{}x{}x{} for input {} and groups {}", weight.to_string(), weight[0],
                src[1] / attrs.groups, window.kernel_h, window.kernel_w, src.to_string(), attrs.groups);
  if (node.inputs() == 3 && !(node.input_shape(2) == Shape{weight[0]}))
    node.refuse("bias is {}, wants {}", node.input_shape(2).to_string(), weight[0]);
  check_window(node, window, src);
  return {{{src[0], weight[0], window.output_h(src[2]), window.output_w(src[3])}, node.dtype()}};
}

std::int64_t multiply_add_flops(const Shape& dst, const Shape& weight) {
  return 2 * dst.elements() * weight.elements_from(1);
}

Cost cost(const NodeView& node) {
  const std::int64_t after =
      (node.inputs() == 3 ? 1 : 0) + (node.attrs<Conv2dAttrs>().activation.kind == Activation::none ? 0 : 1);
  return {.flops = multiply_add_flops(node.output_shape(0), node.input_shape(1)),
          .elementwise_flops = after * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  Graph& graph = context.graph();
  Conv2dAttrs attrs = context.node().attrs<Conv2dAttrs>();
  ValueId d_dst = context.d_output(0);
  if (attrs.activation.kind != Activation::none)
    d_dst = activation_grad(graph, context.name("/d_activation"), d_dst, context.output(0), attrs.activation);
  attrs.activation.kind = Activation::none;
  const bool bias = context.node().inputs.size() == 3 && context.needs(2);
  if (context.needs(1) || bias) {
    const auto made = graph.add_node(conv2d_d_weight_op, context.name("/d_weight"), {d_dst, context.input(0)},
                                     Conv2dGradAttrs{attrs, graph.shape(context.input(1)), bias});
    context.set(1, made[0]);
    if (bias) context.set(2, made[1]);
  }
  if (context.needs(0))
    context.set(0, graph.add(conv2d_d_src_op, context.name("/d_src"), {d_dst, context.input(1)},
                             Conv2dGradAttrs{attrs, graph.shape(context.input(0)), false}));
}

std::vector<TensorType> infer_d_src(const NodeView& node) {
  node.want_inputs(2, 2);
  node.want_rank(0, 4);
  node.want_rank(1, 4);
  const auto& [conv, shape, bias] = node.attrs<Conv2dGradAttrs>();
  const Shape &d_dst = node.input_shape(0), &weight = node.input_shape(1);
  check_window(node, conv.window, shape);
  const Shape wanted{shape[0], weight[0], conv.window.output_h(shape[2]), conv.window.output_w(shape[3])};
  if (!(d_dst == wanted) || conv.groups < 1 || shape[1] != weight[1] * conv.groups ||
      weight[0] % conv.groups != 0 || weight[2] != conv.window.kernel_h || weight[3] != conv.window.kernel_w)
    node.refuse("gradient {} and weight {} do not belong to {} convolved in {} groups", d_dst.to_string(),
                weight.to_string(), shape.to_string(), conv.groups);
  return {{shape, node.dtype()}};
}

// It is linear in both inputs: the gradient of one is the convolution, and that of the other its d_weight,
// with the two images in each other's place.
void gradient_d_src(GradientContext& context) {
  Graph& graph = context.graph();
  const auto attrs = context.node().attrs<Conv2dGradAttrs>();
  const ValueId d_shape = context.d_output(0);
  if (context.needs(0))
    context.set(0, conv2d(graph, context.name("/d_src"), d_shape, context.input(1), kNone, attrs.conv));
  if (context.needs(1))
    context.set(1, graph.add(conv2d_d_weight_op, context.name("/d_weight"), {context.input(0), d_shape},
                             Conv2dGradAttrs{attrs.conv, graph.shape(context.input(1)), false}));
}

std::vector<Case> cases_transposed() {
  struct Problem {
    const char* name;
    Shape src;
    std::int64_t channels;
    Window2d window;
    std::int64_t groups, height, width;
  };
  Window2d uneven = square_window(3, 2, 1);
  uneven.pad_bottom = 0;
  uneven.kernel_w = 2;
  uneven.stride_w = 1;
  const Problem problems[] = {{"doubled", {2, 16, 4, 5}, 8, square_window(2, 2), 1, 8, 10},
                              {"doubled_4x4", {2, 5, 3, 3}, 7, square_window(4, 2, 1), 1, 6, 6},
                              {"overlapping", {1, 8, 5, 5}, 16, square_window(3, 1, 1), 1, 5, 5},
                              {"one_more_pixel", {2, 6, 3, 3}, 4, square_window(3, 2, 1), 1, 6, 6},
                              {"uneven", {1, 3, 4, 6}, 5, uneven, 1, 8, 5},
                              {"groups_2", {2, 8, 3, 3}, 12, square_window(2, 2), 2, 6, 6},
                              {"depthwise", {1, 16, 4, 4}, 16, square_window(4, 2, 1), 16, 8, 8}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back(
        {problem.name, [problem](Graph& graph, DType dtype) {
           const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
           const ValueId weight = graph.add_parameter("weight",
                                                      {{problem.src[1], problem.channels / problem.groups,
                                                        problem.window.kernel_h, problem.window.kernel_w},
                                                       dtype},
                                                      Initializer::normal(0.2));
           graph.mark_output(conv2d_transposed(graph, "y", src, weight, {problem.window, problem.groups},
                                               problem.height, problem.width));
         }});
  return all;
}

std::vector<TensorType> infer_d_weight(const NodeView& node) {
  node.want_inputs(2, 2);
  const auto& attrs = node.attrs<Conv2dGradAttrs>();
  std::vector<TensorType> types{{attrs.shape, node.dtype()}};
  if (attrs.bias) types.push_back({{attrs.shape[0]}, sum_type(node.dtype())});
  return types;
}

Cost cost_d_src(const NodeView& node) {
  return {.flops = multiply_add_flops(node.input_shape(0), node.input_shape(1)),
          .bytes_moved = bytes_touched(node)};
}

Cost cost_d_weight(const NodeView& node) {
  const auto& attrs = node.attrs<Conv2dGradAttrs>();
  return {.flops = multiply_add_flops(node.input_shape(0), attrs.shape),
          .elementwise_flops = attrs.bias ? node.input_shape(0).elements() : 0,
          .bytes_moved = bytes_touched(node)};
}

std::string describe_conv(const Conv2dAttrs& attrs) {
  std::string text = attrs.window.to_string();
  if (attrs.groups != 1) text += fmt::format(" groups {}", attrs.groups);
  return text + fused_text(attrs.activation.kind);
}

std::string describe(const NodeView& node) { return describe_conv(node.attrs<Conv2dAttrs>()); }

std::string describe_grad(const NodeView& node) { return describe_conv(node.attrs<Conv2dGradAttrs>().conv); }

struct Problem {
  const char* name;
  Shape src;
  std::int64_t outputs;
  Window2d window;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = Activation::none;
};

std::vector<Case> cases() {
  Window2d tall = square_window(3);
  tall.kernel_h = 1;
  tall.kernel_w = 7;
  tall.pad_left = tall.pad_right = 3;
  Window2d dilated = square_window(3, 1, 2);
  dilated.dilation_h = dilated.dilation_w = 2;
  const Problem problems[] = {
      {"one_channel_5x5", {3, 1, 8, 8}, 32, square_window(5, 1, 2), 1, true, Activation::relu},
      {"rgb_5x5", {2, 3, 9, 9}, 64, square_window(5, 1, 2), 1, true, Activation::relu},
      {"rgb_7x7_stride_2", {2, 3, 15, 15}, 16, square_window(7, 2, 3), 1, false},
      {"rgb_11x11_stride_4_valid", {1, 3, 23, 23}, 16, square_window(11, 4), 1, true},
      {"5x5_32_to_64", {2, 32, 7, 7}, 64, square_window(5, 1, 2), 1, true, Activation::relu},
      {"5x5_64_to_64", {1, 64, 6, 8}, 64, square_window(5, 1, 2), 1, false},
      {"5x5_64_to_32", {1, 64, 9, 13}, 32, square_window(5, 1, 2), 1, true, Activation::relu},
      {"5x5_32_to_32", {2, 32, 7, 7}, 32, square_window(5, 1, 2), 1, true},
      {"3x3_16", {2, 16, 6, 6}, 16, square_window(3, 1, 1), 1, false},
      {"3x3_stride_2_same_even", {2, 16, 8, 8}, 32, with_same_padding(square_window(3, 2), 8, 8), 1, false},
      {"3x3_stride_2_valid", {2, 8, 9, 9}, 24, square_window(3, 2), 1, true},
      {"1x1", {2, 20, 5, 5}, 12, square_window(1), 1, true},
      {"1x1_stride_2", {2, 16, 7, 7}, 32, square_window(1, 2), 1, false},
      {"1x7", {1, 8, 5, 9}, 8, tall, 1, false},
      {"dilated", {1, 8, 9, 9}, 8, dilated, 1, true},
      {"groups_2", {2, 8, 6, 6}, 12, square_window(3, 1, 1), 2, true},
      {"depthwise", {2, 24, 6, 6}, 24, square_window(3, 1, 1), 24, false},
      {"depthwise_stride_2_relu6",
       {2, 16, 8, 8},
       16,
       with_same_padding(square_window(3, 2), 8, 8),
       16,
       true,
       Activation::relu6},
      {"depthwise_5x5", {1, 2, 3, 3}, 2, square_window(5, 1, 2), 2, false},
      {"depthwise_dilated", {1, 2, 5, 5}, 2, dilated, 2, false},
      {"odd_channels_tanh", {1, 7, 5, 5}, 5, square_window(3, 1, 1), 1, true, Activation::tanh},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const std::int64_t depth = problem.src[1] / problem.groups;
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     const ValueId weight = graph.add_parameter(
                         "weight",
                         {{problem.outputs, depth, problem.window.kernel_h, problem.window.kernel_w}, dtype},
                         Initializer::normal(0.2));
                     const ValueId bias = problem.bias
                                              ? graph.add_parameter("bias", {{problem.outputs}, dtype},
                                                                    Initializer::normal(0.2))
                                              : kNone;
                     graph.mark_output(conv2d(graph, "y", src, weight, bias,
                                              {problem.window, problem.groups, {problem.activation}}));
                   }});
  return all;
}

}  // namespace

const graph::OpDef conv2d_op{.name = "conv2d",
                             .infer = infer,
                             .cost = cost,
                             .gradient = gradient,
                             .cases = cases,
                             .describe = describe,
                             .lowering = graph::Lowering::computes,
                             .category = graph::Category::conv};
const graph::OpDef conv2d_d_src_op{.name = "conv2d_d_src",
                                   .infer = infer_d_src,
                                   .cost = cost_d_src,
                                   .gradient = gradient_d_src,
                                   .cases = cases_transposed,
                                   .describe = describe_grad,
                                   .lowering = graph::Lowering::computes,
                                   .category = graph::Category::conv};
const graph::OpDef conv2d_d_weight_op{.name = "conv2d_d_weight",
                                      .infer = infer_d_weight,
                                      .cost = cost_d_weight,
                                      .describe = describe_grad,
                                      .lowering = graph::Lowering::computes,
                                      .category = graph::Category::conv};

ValueId conv2d(Graph& graph, const std::string& name, ValueId src, ValueId weight, ValueId bias,
               const Conv2dAttrs& attrs) {
  std::vector<ValueId> inputs{src, weight};
  if (bias != kNone) inputs.push_back(bias);
  return graph.add(conv2d_op, name, std::move(inputs), attrs);
}

ValueId conv2d_transposed(Graph& graph, const std::string& name, ValueId src, ValueId weight,
                          const Conv2dAttrs& attrs, std::int64_t height, std::int64_t width) {
  const std::int64_t images = graph.shape(src)[0], channels = graph.shape(weight)[1] * attrs.groups;
  return graph.add(conv2d_d_src_op, name, {src, weight},
                   Conv2dGradAttrs{attrs, {images, channels, height, width}, false});
}

std::vector<const graph::OpDef*> conv2d_ops() { return {&conv2d_op, &conv2d_d_src_op, &conv2d_d_weight_op}; }

}  // namespace trainyard::ops
