#include "ops/conv2d.h"

namespace trainyard::ops {
namespace {

using graph::Case;
using graph::Cost;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(2, 3);
  node.want_rank(0, 4);
  node.want_rank(1, 4);
  const auto& attrs = node.attrs<Conv2dMaxPoolAttrs>();
  check_window(node, attrs.conv.window, node.input_shape(0));
  const Shape between = convolved_shape(attrs, node.input_shape(0), node.input_shape(1));
  check_window(node, attrs.pool, between);
  const Shape dst{between[0], between[1], attrs.pool.output_h(between[2]), attrs.pool.output_w(between[3])};
  return {{dst, node.input(1).type.dtype}, {dst, DType::u8}};  // images may still be f32 before bf16 weights
}

Cost cost(const NodeView& node) {
  const auto& attrs = node.attrs<Conv2dMaxPoolAttrs>();
  const Shape between = convolved_shape(attrs, node.input_shape(0), node.input_shape(1));
  return {.flops = 2 * between.elements() * node.input_shape(1).elements_from(1),
          .elementwise_flops = 2 * between.elements() + node.output_shape(0).elements() * attrs.pool.area(),
          .bytes_moved = bytes_touched(node)};
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  const auto& attrs = node.attrs<Conv2dMaxPoolGradAttrs>();
  node.want_inputs(attrs.mask_by_dst ? 4 : 3, attrs.mask_by_dst ? 4 : 3);
  std::vector<TensorType> types{{attrs.weight, node.dtype()}};
  if (attrs.bias) types.push_back({{attrs.weight[0]}, sum_type(node.dtype())});
  return types;
}

Cost cost_grad(const NodeView& node) {
  const auto& attrs = node.attrs<Conv2dMaxPoolGradAttrs>();
  const Shape between = convolved_shape(attrs.forward, node.input_shape(2), attrs.weight);
  return {.flops = 2 * between.elements() * attrs.weight.elements_from(1),
          .elementwise_flops = node.input_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

std::string describe_layer(const Conv2dMaxPoolAttrs& attrs) {
  return attrs.conv.window.to_string() + fused_text(attrs.conv.activation.kind) + ", pool " +
         attrs.pool.to_string();
}

std::string describe(const NodeView& node) { return describe_layer(node.attrs<Conv2dMaxPoolAttrs>()); }

std::string describe_grad(const NodeView& node) {
  return describe_layer(node.attrs<Conv2dMaxPoolGradAttrs>().forward);
}

struct Problem {
  const char* name;
  Shape src;
  std::int64_t outputs;
  Conv2dMaxPoolAttrs attrs;
  bool bias;
};

std::vector<Problem> problems() {
  const ActivationAttrs relu{Activation::relu}, none{Activation::none};
  return {
      {"deepmnist", {3, 1, 8, 8}, 32, {{square_window(5, 1, 2), 1, relu}, square_window(2, 2)}, true},
      {"mnist_3x3", {2, 1, 27, 19}, 64, {{square_window(3, 1, 1), 1, relu}, square_window(2, 2)}, true},
      {"rgb_5x5", {2, 3, 30, 30}, 32, {{square_window(5, 1, 2), 1, relu}, square_window(2, 2)}, true},
      {"wide_5x5", {1, 1, 56, 56}, 32, {{square_window(5, 1, 2), 1, none}, square_window(2, 2)}, false},
      {"small_images", {1, 32, 10, 14}, 64, {{square_window(5, 1, 2), 1, relu}, square_window(2, 2)}, true},
      {"cifarnet",
       {2, 3, 12, 12},
       64,
       {{square_window(5, 1, 2), 1, relu}, with_same_padding(square_window(3, 2), 12, 12)},
       true},
      {"alexnet", {1, 3, 27, 27}, 16, {{square_window(11, 4), 1, relu}, square_window(3, 2)}, true},
      {"seven_stride_2",
       {2, 3, 15, 15},
       20,
       {{square_window(7, 2, 3), 1, none}, square_window(3, 2, 1)},
       false},
      {"odd_channels", {2, 2, 9, 7}, 5, {{square_window(3, 1, 1), 1, relu}, square_window(2, 2)}, true},
      {"wide_row", {1, 1, 5, 30}, 16, {{square_window(3, 1, 1), 1, none}, square_window(2, 1)}, true}};
}

std::vector<ValueId> add_forward(Graph& graph, DType dtype, const Problem& problem, ValueId src) {
  const Window2d& window = problem.attrs.conv.window;
  std::vector<ValueId> inputs{
      src,
      graph.add_state("weight", {{problem.outputs, problem.src[1], window.kernel_h, window.kernel_w}, dtype},
                      graph::Role::parameter, Initializer::normal(0.2))};
  if (problem.bias)
    inputs.push_back(graph.add_state("bias", {{problem.outputs}, dtype}, graph::Role::parameter,
                                     Initializer::normal(0.2)));
  return graph.add_node(conv2d_max_pool_op, "y", inputs, problem.attrs);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Problem& problem : problems())
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     graph.mark_output(add_forward(graph, dtype, problem, src)[0]);
                   }});
  return all;
}

std::vector<Case> grad_cases() {
  std::vector<Case> all;
  for (const Problem& problem : problems())
    for (const bool mask : {false, true})
      all.push_back(
          {std::string(problem.name) + (mask ? "_masked" : ""), [=](Graph& graph, DType dtype) {
             const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
             const auto made = add_forward(graph, dtype, problem, src);
             const ValueId d_dst =
                 graph.add_input("d_dst", {graph.shape(made[0]), dtype}, Initializer::normal(1));
             std::vector<ValueId> inputs{d_dst, made[1], src};
             if (mask) inputs.push_back(made[0]);
             const Window2d& window = problem.attrs.conv.window;
             const Shape weight{problem.outputs, problem.src[1], window.kernel_h, window.kernel_w};
             for (const ValueId output :
                  graph.add_node(conv2d_max_pool_d_weight_op, "d", inputs,
                                 Conv2dMaxPoolGradAttrs{problem.attrs, weight, problem.bias, mask}))
               graph.mark_output(output);
           }});
  return all;
}

}  // namespace

const graph::OpDef conv2d_max_pool_op{.name = "conv2d_max_pool",
                                      .infer = infer,
                                      .cost = cost,
                                      .cases = cases,
                                      .describe = describe,
                                      .lowering = graph::Lowering::computes,
                                      .category = graph::Category::conv};
const graph::OpDef conv2d_max_pool_d_weight_op{.name = "conv2d_max_pool_d_weight",
                                               .infer = infer_grad,
                                               .cost = cost_grad,
                                               .cases = grad_cases,
                                               .describe = describe_grad,
                                               .lowering = graph::Lowering::computes,
                                               .category = graph::Category::conv};

Shape convolved_shape(const Conv2dMaxPoolAttrs& attrs, const Shape& src, const Shape& weight) {
  return {src[0], weight[0], attrs.conv.window.output_h(src[2]), attrs.conv.window.output_w(src[3])};
}

std::vector<const graph::OpDef*> conv2d_max_pool_ops() {
  return {&conv2d_max_pool_op, &conv2d_max_pool_d_weight_op};
}

}  // namespace trainyard::ops
