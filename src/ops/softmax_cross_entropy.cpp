#include "ops/softmax_cross_entropy.h"

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

void check_labels(const NodeView& node, int labels, const Shape& logits) {
  const auto& type = node.input(labels).type;
  const bool integers = type.dtype == DType::i32 && type.shape == Shape{logits[0]};
  const bool soft = type.dtype == sum_type(node.dtype()) && type.shape == logits;
  if (!integers && !soft)
    node.refuse("labels are {}, wants i32 {} or {} {}", type.to_string(), logits[0],
                trainyard::name(sum_type(node.dtype())), logits.to_string());
}

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(2, 2);
  node.want_rank(0, 2);
  check_labels(node, 1, node.input_shape(0));
  const double smoothing = node.attrs<SoftmaxCrossEntropyAttrs>().label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) node.refuse("label smoothing {} is not in [0, 1)", smoothing);
  const DType sums = sum_type(node.dtype());
  std::vector<TensorType> types{{{}, sums}, {node.input_shape(0), sums}};
  if (node.attrs<SoftmaxCrossEntropyAttrs>().with_gradient) types.push_back(node.input(0).type);
  return types;
}

Cost cost(const NodeView& node) {
  return {.elementwise_flops = 6 * node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == graph::kNone) return;
  context.set(0, context.graph().add(softmax_cross_entropy_grad_op, context.name("/d_logits"),
                                     {context.d_output(0), context.output(1), context.input(1)},
                                     context.node().attributes));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(3, 3);
  check_labels(node, 2, node.input_shape(1));
  const bool rounded = node.attrs<SoftmaxCrossEntropyAttrs>().d_logits_bf16;
  return {{node.input_shape(1), rounded ? DType::bf16 : node.dtype()}};
}

Cost cost_grad(const NodeView& node) { return elementwise_cost(node, 2); }

std::vector<Case> cases() {
  const auto problem = [](Shape shape, bool one_hot, double smoothing) {
    return [=](Graph& graph, DType dtype) {
      const ValueId logits = graph.add_input("logits", {shape, dtype}, Initializer::normal(2));
      // Soft labels stand for one-hot ones: a parameterless role, so the gradient check leaves them alone.
      const ValueId labels = one_hot
                                 ? graph.add_state("labels", {shape, dtype}, graph::Role::statistic,
                                                   Initializer::constant(1.0 / static_cast<double>(shape[1])))
                                 : graph.add_input("labels", {{shape[0]}, DType::i32},
                                                   Initializer::integers(0, static_cast<double>(shape[1])));
      graph.mark_output(softmax_cross_entropy(graph, "loss", logits, labels, {smoothing}).loss);
    };
  };
  return {{"integer", problem({5, 10}, false, 0)},
          {"integer_smoothed", problem({4, 12}, false, 0.1)},
          {"soft", problem({5, 7}, true, 0)},
          {"soft_smoothed", problem({3, 1001}, true, 0.1)}};
}

}  // namespace

const graph::OpDef softmax_cross_entropy_op{.name = "softmax_cross_entropy",
                                            .infer = infer,
                                            .cost = cost,
                                            .gradient = gradient,
                                            .cases = cases,
                                            .lowering = graph::Lowering::mixed,
                                            .category = graph::Category::loss};
const graph::OpDef softmax_cross_entropy_grad_op{.name = "softmax_cross_entropy_grad",
                                                 .infer = infer_grad,
                                                 .cost = cost_grad,
                                                 .lowering = graph::Lowering::mixed,
                                                 .category = graph::Category::loss};

LossAndProbabilities softmax_cross_entropy(Graph& graph, const std::string& name, ValueId logits,
                                           ValueId labels, const SoftmaxCrossEntropyAttrs& attrs) {
  const auto made = graph.add_node(softmax_cross_entropy_op, name, {logits, labels}, attrs);
  return {made[0], made[1]};
}

}  // namespace trainyard::ops
