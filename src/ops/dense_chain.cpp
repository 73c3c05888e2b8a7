#include "ops/dense.h"

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

void want_shape(const NodeView& node, int input, const Shape& wanted) {
  if (!(node.input_shape(input) == wanted))
    node.refuse("input {} '{}' is {}, wants {}", input, node.input(input).name,
                node.input_shape(input).to_string(), wanted.to_string());
}

std::vector<TensorType> infer(const NodeView& node) {
  if (node.inputs() < 3 || node.inputs() % 2 == 0)
    node.refuse("got {} inputs, wants src, and weight and bias of each layer", node.inputs());
  node.want_rank(0, 2);
  const Shape& src = node.input_shape(0);
  for (int i = 1; i < node.inputs(); i += 2) {
    want_shape(node, i, {src[1], src[1]});
    want_shape(node, i + 1, {src[1]});
  }
  const bool all = node.attrs<DenseChainAttrs>().all_outputs;
  return std::vector<TensorType>(static_cast<std::size_t>(all ? chain_layers(node) : 1), {src, node.dtype()});
}

// Returns the flops of `layers` products of (N, W) with (W, W).
std::int64_t product_flops(const Shape& src, std::int64_t layers) {
  return 2 * src[0] * src[1] * src[1] * layers;
}

Cost cost(const NodeView& node) {
  const Shape& src = node.input_shape(0);
  const std::int64_t layers = chain_layers(node);
  const std::int64_t after = node.attrs<DenseChainAttrs>().activation.kind == Activation::none ? 1 : 2;
  return {.flops = product_flops(src, layers),
          .elementwise_flops = after * src.elements() * layers,
          .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  Graph& graph = context.graph();
  const auto& attrs = context.node().attrs<DenseChainAttrs>();
  const int layers = static_cast<int>(context.node().outputs.size());
  if (!attrs.all_outputs)
    fail(ErrorKind::unsupported, "dense_chain '{}': has not kept its layers", context.node().name);
  for (int layer = 0; layer + 1 < layers; ++layer) TRAINYARD_CHECK(context.d_output(layer) == kNone);
  ValueId d_sum = context.d_output(layers - 1);
  if (attrs.activation.kind != Activation::none)
    d_sum = activation_grad(graph, context.name("/d_activation"), d_sum, context.output(layers - 1),
                            attrs.activation);
  const DenseChainGradAttrs grad{attrs.activation, layers, context.needs(0)};
  std::vector<ValueId> inputs{d_sum};
  for (int layer = 0; layer < layers; ++layer) inputs.push_back(context.input(1 + 2 * layer));
  for (int layer = 0; layer + 1 < layers; ++layer) inputs.push_back(context.output(layer));
  std::vector<ValueId> d_sums = graph.add_node(dense_chain_d_src_op, context.name("/d_src"), inputs, grad);
  if (grad.d_src) {
    context.set(0, d_sums.back());
    d_sums.pop_back();
  }
  d_sums.push_back(d_sum);
  inputs = d_sums;
  inputs.push_back(context.input(0));
  for (int layer = 0; layer + 1 < layers; ++layer) inputs.push_back(context.output(layer));
  const std::vector<ValueId> made =
      graph.add_node(dense_chain_d_weight_op, context.name("/d_weight"), inputs, grad);
  for (std::size_t i = 0; i < made.size(); ++i) context.set(static_cast<int>(i) + 1, made[i]);
}

std::string describe(const NodeView& node) {
  return fmt::format("{} layers, {}", chain_layers(node),
                     name(node.attrs<DenseChainAttrs>().activation.kind));
}

std::vector<TensorType> infer_d_src(const NodeView& node) {
  const auto& attrs = node.attrs<DenseChainGradAttrs>();
  node.want_inputs(2 * attrs.layers, 2 * attrs.layers);
  const Shape& d_sum = node.input_shape(0);
  for (int layer = 0; layer < attrs.layers; ++layer) want_shape(node, 1 + layer, {d_sum[1], d_sum[1]});
  for (int layer = 0; layer + 1 < attrs.layers; ++layer) want_shape(node, 1 + attrs.layers + layer, d_sum);
  return std::vector<TensorType>(static_cast<std::size_t>(attrs.layers - (attrs.d_src ? 0 : 1)),
                                 {d_sum, node.dtype()});
}

Cost cost_d_src(const NodeView& node) {
  const auto& attrs = node.attrs<DenseChainGradAttrs>();
  const Shape& d_sum = node.input_shape(0);
  const int slopes = attrs.activation.kind == Activation::none ? 0 : attrs.layers - 1;
  return {.flops = product_flops(d_sum, node.outputs()),
          .elementwise_flops = slopes * d_sum.elements(),
          .bytes_moved = bytes_touched(node)};
}

std::vector<TensorType> infer_d_weight(const NodeView& node) {
  const auto& attrs = node.attrs<DenseChainGradAttrs>();
  node.want_inputs(2 * attrs.layers, 2 * attrs.layers);
  const Shape& d_sum = node.input_shape(0);
  for (int i = 1; i < node.inputs(); ++i) want_shape(node, i, d_sum);
  std::vector<TensorType> types;
  for (int layer = 0; layer < attrs.layers; ++layer) {
    types.push_back({{d_sum[1], d_sum[1]}, node.dtype()});
    types.push_back({{d_sum[1]}, sum_type(node.dtype())});
  }
  return types;
}

Cost cost_d_weight(const NodeView& node) {
  const auto& attrs = node.attrs<DenseChainGradAttrs>();
  const Shape& d_sum = node.input_shape(0);
  return {.flops = product_flops(d_sum, attrs.layers),
          .elementwise_flops = attrs.layers * d_sum.elements(),
          .bytes_moved = bytes_touched(node)};
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    Shape src;
    int layers;
    Activation activation;
    bool all_outputs = true;
  };
  const Problem problems[] = {
      {"narrow", {7, 32}, 5, Activation::relu}, {"padded", {5, 40}, 3, Activation::relu},
      {"wide", {9, 128}, 4, Activation::relu},  {"sigmoid", {4, 64}, 6, Activation::sigmoid},
      {"linear", {3, 8}, 3, Activation::none},  {"many_rows", {600, 32}, 3, Activation::relu},
      {"two", {1, 96}, 2, Activation::relu},    {"last_alone", {6, 64}, 4, Activation::relu, false}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back(
        {problem.name, [problem](Graph& graph, DType dtype) {
           const std::int64_t width = problem.src[1];
           const double sigma = 1.4 / std::sqrt(static_cast<double>(width));
           std::vector<ValueId> inputs{graph.add_input("src", {problem.src, dtype}, Initializer::normal(1))};
           for (int layer = 1; layer <= problem.layers; ++layer) {
             inputs.push_back(graph.add_parameter(fmt::format("weight{}", layer), {{width, width}, dtype},
                                                  Initializer::normal(sigma)));
             inputs.push_back(graph.add_parameter(fmt::format("bias{}", layer), {{width}, dtype},
                                                  Initializer::normal(0.2)));
           }
           const auto made = graph.add_node(dense_chain_op, "y", inputs,
                                            DenseChainAttrs{{problem.activation}, problem.all_outputs});
           graph.mark_output(made.back());
         }});
  return all;
}

}  // namespace

int chain_layers(const NodeView& node) { return (node.inputs() - 1) / 2; }

const graph::OpDef dense_chain_op{.name = "dense_chain",
                                  .infer = infer,
                                  .cost = cost,
                                  .gradient = gradient,
                                  .cases = cases,
                                  .describe = describe,
                                  .lowering = graph::Lowering::computes,
                                  .category = graph::Category::gemm};
const graph::OpDef dense_chain_d_src_op{.name = "dense_chain_d_src",
                                        .infer = infer_d_src,
                                        .cost = cost_d_src,
                                        .lowering = graph::Lowering::computes,
                                        .category = graph::Category::gemm};
const graph::OpDef dense_chain_d_weight_op{.name = "dense_chain_d_weight",
                                           .infer = infer_d_weight,
                                           .cost = cost_d_weight,
                                           .lowering = graph::Lowering::computes,
                                           .category = graph::Category::gemm};

std::vector<const graph::OpDef*> dense_chain_ops() {
  return {&dense_chain_op, &dense_chain_d_src_op, &dense_chain_d_weight_op};
}

}  // namespace trainyard::ops
