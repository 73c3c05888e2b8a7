#include "ops/dense.h"

#include "ops/update.h"

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

std::vector<TensorType> infer_dense(const NodeView& node) {
  node.want_inputs(2, 3);
  const Shape &src = node.input_shape(0), &weight = node.input_shape(1);
  if (src.rank() < 2) node.refuse("input is {}, wants at least 2 dimensions", src.to_string());
  if (weight.rank() != src.rank() || !std::equal(src.begin() + 1, src.end(), weight.begin() + 1))
    node.refuse("weight is {}, input is {}: all dimensions but the first must agree", weight.to_string(),
                src.to_string());
  if (node.inputs() == 3 && !(node.input_shape(2) == Shape{weight[0]}))
    node.refuse("bias is {}, wants {}", node.input_shape(2).to_string(), weight[0]);
  return {{{src[0], weight[0]}, node.dtype()}};
}

Cost cost_dense(const NodeView& node) {
  const std::int64_t after =
      (node.inputs() == 3 ? 1 : 0) + (node.attrs<DenseAttrs>().activation.kind == Activation::none ? 0 : 1);
  return {.flops = 2 * node.input_shape(0)[0] * node.input_shape(1).elements(),
          .elementwise_flops = after * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  Graph& graph = context.graph();
  const auto& attrs = context.node().attrs<DenseAttrs>();
  ValueId d_dst = context.d_output(0);
  if (attrs.activation.kind != Activation::none)
    d_dst = activation_grad(graph, context.name("/d_activation"), d_dst, context.output(0), attrs.activation);
  const bool bias = context.node().inputs.size() == 3 && context.needs(2);
  if (context.needs(1) || bias) {
    const auto made = graph.add_node(dense_d_weight_op, context.name("/d_weight"), {d_dst, context.input(0)},
                                     DenseGradAttrs{graph.shape(context.input(1)), bias});
    context.set(1, made[0]);
    if (bias) context.set(2, made[1]);
  }
  if (context.needs(0))
    context.set(0, graph.add(dense_d_src_op, context.name("/d_src"), {d_dst, context.input(1)},
                             DenseGradAttrs{graph.shape(context.input(0)), false}));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(2, 2);
  const auto& attrs = node.attrs<DenseGradAttrs>();
  std::vector<TensorType> types{{attrs.shape, node.dtype()}};
  if (attrs.bias) types.push_back({{attrs.shape[0]}, sum_type(node.dtype())});
  return types;
}

Cost cost_d_src(const NodeView& node) {
  return {.flops = 2 * node.input_shape(0)[0] * node.input_shape(1).elements(),
          .bytes_moved = bytes_touched(node)};
}

Cost cost_d_weight(const NodeView& node) {
  return {.flops = 2 * node.input_shape(0)[0] * node.output_shape(0).elements(),
          .elementwise_flops = node.attrs<DenseGradAttrs>().bias ? node.input_shape(0).elements() : 0,
          .bytes_moved = bytes_touched(node)};
}

std::string describe_dense(const NodeView& node) {
  const Activation kind = node.attrs<DenseAttrs>().activation.kind;
  return kind == Activation::none ? "" : name(kind);
}

std::vector<Case> cases_dense() {
  struct Problem {
    const char* name;
    Shape src;
    std::int64_t outputs;
    bool bias;
    Activation activation;
  };
  const Problem problems[] = {
      {"small", {4, 10}, 7, true, Activation::none},
      {"relu", {8, 64}, 48, true, Activation::relu},
      {"image", {4, 16, 3, 3}, 32, true, Activation::relu},
      {"image_odd_channels", {2, 5, 2, 3}, 10, true, Activation::none},
      {"no_bias", {3, 33}, 16, false, Activation::none},
      {"batch_one", {1, 40}, 10, true, Activation::sigmoid},
      {"wide", {5, 130}, 257, true, Activation::none},
      {"few_to_many", {2, 3}, 4096, true, Activation::none},
      {"many_rows", {513, 24}, 80, true, Activation::none},
      {"many_rows_no_bias", {520, 64}, 33, false, Activation::relu},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     Shape weight_shape = problem.src;
                     weight_shape[0] = problem.outputs;
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     const ValueId weight =
                         graph.add_parameter("weight", {weight_shape, dtype}, Initializer::normal(0.2));
                     const ValueId bias = problem.bias
                                              ? graph.add_parameter("bias", {{problem.outputs}, dtype},
                                                                    Initializer::normal(0.2))
                                              : kNone;
                     graph.mark_output(dense(graph, "y", src, weight, bias, {{problem.activation}}));
                   }});
  return all;
}

}  // namespace

const graph::OpDef dense_op{.name = "dense",
                            .infer = infer_dense,
                            .cost = cost_dense,
                            .gradient = gradient,
                            .cases = cases_dense,
                            .describe = describe_dense,
                            .lowering = graph::Lowering::computes,
                            .category = graph::Category::gemm};
const graph::OpDef dense_d_src_op{.name = "dense_d_src",
                                  .infer = infer_grad,
                                  .cost = cost_d_src,
                                  .lowering = graph::Lowering::computes,
                                  .category = graph::Category::gemm};
const graph::OpDef dense_d_weight_op{.name = "dense_d_weight",
                                     .infer = infer_grad,
                                     .cost = cost_d_weight,
                                     .lowering = graph::Lowering::computes,
                                     .category = graph::Category::gemm};

ValueId dense(Graph& graph, const std::string& name, ValueId src, ValueId weight, ValueId bias,
              const DenseAttrs& attrs) {
  std::vector<ValueId> inputs{src, weight};
  if (bias != kNone) inputs.push_back(bias);
  return graph.add(dense_op, name, std::move(inputs), attrs);
}

namespace {

constexpr int kOperands = 2;  // d_dst and src, before what is changed

std::vector<TensorType> infer_dense_update(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  const int tensors = kOperands + 2 * (1 + attrs.slots());
  node.want_inputs(tensors + attrs.rounded_copies, tensors + attrs.rounded_copies);
  const Shape &d_dst = node.input_shape(0), &src = node.input_shape(1), &weight = node.input_shape(2);
  if (d_dst.rank() != 2 || d_dst[0] != src[0] || d_dst[1] != weight[0] || weight.rank() != src.rank() ||
      src.elements_from(1) != weight.elements_from(1))
    node.refuse("d_dst is {}, input is {}, weight is {}: they do not belong together", d_dst.to_string(),
                src.to_string(), weight.to_string());
  for (int i = kOperands; i < tensors; ++i)
    if (const Shape& wanted = i % 2 == 0 ? weight : Shape{weight[0]}; !(node.input_shape(i) == wanted))
      node.refuse("input {} '{}' is {}, wants {}", i, node.input(i).name, node.input_shape(i).to_string(),
                  wanted.to_string());
  if (attrs.rounded_copies > 1) node.refuse("got {} copies of one weight", attrs.rounded_copies);
  if (attrs.rounded_copies == 1 && !(node.input_shape(tensors) == weight))
    node.refuse("copy is {}, weight is {}", node.input_shape(tensors).to_string(), weight.to_string());
  return {};
}

// Parameters and slots are read and written.
Cost cost_dense_update(const NodeView& node) {
  std::int64_t bytes = 0;
  for (int i = 0; i < node.inputs(); ++i) bytes += node.input(i).type.bytes();
  for (int i = kOperands; i < node.inputs() - node.attrs<UpdateAttrs>().rounded_copies; ++i)
    bytes += node.input(i).type.bytes();
  const std::int64_t elements = node.input_shape(2).elements() + node.input_shape(3).elements();
  return {.flops = 2 * node.input_shape(0)[0] * node.input_shape(2).elements(),
          .elementwise_flops =
              node.input_shape(0).elements() + elements * flops_per_parameter(node.attrs<UpdateAttrs>()),
          .bytes_moved = bytes};
}

std::vector<int> mutates(const NodeView& node) {
  std::vector<int> changed(static_cast<std::size_t>(node.inputs() - kOperands));
  std::iota(changed.begin(), changed.end(), kOperands);
  return changed;
}

std::string describe_dense_update(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  return fmt::format("{}{}", name(attrs.rule), attrs.ema_decay > 0 ? ", shadow weights" : "");
}

std::vector<Case> cases_dense_update() {
  const auto problem = [](Shape src_shape, std::int64_t outputs, UpdateAttrs attrs) {
    return [=](Graph& graph, DType dtype) {
      Shape weight_shape = src_shape;
      weight_shape[0] = outputs;
      const ValueId d_dst =
          graph.add_input("d_dst", {{src_shape[0], outputs}, dtype}, Initializer::normal(0.3));
      const ValueId src = graph.add_input("src", {src_shape, dtype}, Initializer::normal(1));
      const ValueId weight = graph.add_parameter("weight", {weight_shape, dtype}, Initializer::normal(1));
      const ValueId bias = graph.add_parameter("bias", {{outputs}, dtype}, Initializer::normal(1));
      std::vector<ValueId> inputs{d_dst, src, weight, bias};
      const std::vector<ValueId> slots = add_slots(graph, {weight, bias}, attrs);
      inputs.insert(inputs.end(), slots.begin(), slots.end());
      graph.set_phase(graph::Phase::update);
      graph.add_node(dense_update_op, "update", inputs, attrs);
      graph.set_phase(graph::Phase::forward);
    };
  };
  const Schedule rate{.rate = 0.1};
  return {{"sgd", problem({5, 40}, 24, {.rule = Rule::sgd, .schedule = rate})},
          {"sgd_decay_ema",
           problem({50, 72}, 96,
                   {.rule = Rule::sgd, .schedule = rate, .weight_decay = 0.01, .ema_decay = 0.9999})},
          {"momentum_image", problem({16, 24, 3, 3}, 72, {.rule = Rule::momentum, .schedule = rate})},
          {"rmsprop", problem({33, 64}, 64, {.rule = Rule::rmsprop, .schedule = rate, .epsilon = 1})},
          {"adam_warmup",
           problem({64, 136}, 128, {.rule = Rule::adam, .schedule = {.rate = 0.1, .warmup_steps = 8}})},
          {"too_many_samples", problem({65, 8}, 8, {.rule = Rule::sgd, .schedule = rate})},
          {"odd", problem({3, 7}, 5, {.rule = Rule::momentum, .schedule = rate, .nesterov = true})}};
}

}  // namespace

const graph::OpDef dense_update_op{.name = "dense_update",
                                   .infer = infer_dense_update,
                                   .cost = cost_dense_update,
                                   .cases = cases_dense_update,
                                   .mutates = mutates,
                                   .describe = describe_dense_update,
                                   .lowering = graph::Lowering::mixed,
                                   .category = graph::Category::gemm,
                                   .any_layout = true};

std::vector<const graph::OpDef*> dense_ops() {
  return {&dense_op, &dense_d_src_op, &dense_d_weight_op, &dense_update_op};
}

}  // namespace trainyard::ops
