#include "ops/dense_update.h"

#include <numeric>

#include "ops/update.h"

namespace trainyard::ops {
namespace {

using graph::Case;
using graph::Cost;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

constexpr int kOperands = 2;  // d_dst and src, before what is changed

std::vector<TensorType> infer(const NodeView& node) {
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
Cost cost(const NodeView& node) {
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

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  return fmt::format("{}{}", name(attrs.rule), attrs.ema_decay > 0 ? ", shadow weights" : "");
}

std::vector<Case> cases() {
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
                                   .infer = infer,
                                   .cost = cost,
                                   .cases = cases,
                                   .mutates = mutates,
                                   .describe = describe,
                                   .lowering = graph::Lowering::mixed,
                                   .category = graph::Category::gemm};

}  // namespace trainyard::ops
