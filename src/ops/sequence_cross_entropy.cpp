#include "ops/sequence_cross_entropy.h"

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

// `logits`: the input of their shape; labels and lengths follow it.
void check_inputs(const NodeView& node, int logits) {
  const Shape &shape = node.input_shape(logits), &labels = node.input_shape(logits + 1);
  node.want_rank(logits + 1, 2);
  for (const int integers : {logits + 1, logits + 2})
    if (node.input(integers).type.dtype != DType::i32)
      node.refuse("input {} '{}' is {}, wants i32", integers, node.input(integers).name,
                  node.input(integers).type.to_string());
  const bool fits = shape.rank() == 3 ? shape[0] == labels[0] && shape[1] == labels[1]
                                      : shape.rank() == 2 && shape[0] == labels.elements();
  if (!fits)
    node.refuse("logits are {}, wants a row for each of {} labels", shape.to_string(), labels.to_string());
  if (!(node.input_shape(logits + 2) == Shape{labels[1]}))
    node.refuse("lengths are {}, wants {}", node.input_shape(logits + 2).to_string(), labels[1]);
}

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(3, 3);
  check_inputs(node, 0);
  const DType sums = sum_type(node.dtype());
  return {{{}, sums}, {node.input_shape(0), sums}};
}

Cost cost(const NodeView& node) {
  return {.elementwise_flops = 6 * node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == graph::kNone) return;
  context.set(
      0, context.graph().add(sequence_cross_entropy_grad_op, context.name("/d_logits"),
                             {context.d_output(0), context.output(1), context.input(1), context.input(2)}));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(4, 4);
  check_inputs(node, 1);
  return {{node.input_shape(1), node.dtype()}};
}

Cost cost_grad(const NodeView& node) { return elementwise_cost(node, 2); }

std::vector<Case> cases() {
  const auto problem = [](Shape shape, std::int64_t least_length, bool rows = false) {
    return [=](Graph& graph, DType dtype) {
      const std::int64_t steps = shape[0], batch = shape[1];
      const ValueId logits = graph.add_input("logits", {rows ? Shape{steps * batch, shape[2]} : shape, dtype},
                                             Initializer::normal(2));
      const ValueId labels = graph.add_input("labels", {{steps, batch}, DType::i32},
                                             Initializer::integers(0, static_cast<double>(shape[2])));
      const ValueId lengths = graph.add_input(
          "lengths", {{batch}, DType::i32},
          Initializer::integers(static_cast<double>(least_length), static_cast<double>(steps + 1)));
      graph.mark_output(sequence_cross_entropy(graph, "loss", logits, labels, lengths).loss);
    };
  };
  return {{"masked", problem({6, 4, 10}, 1)},   {"rows", problem({5, 6, 12}, 1, true)},
          {"all_steps", problem({5, 3, 7}, 5)}, {"empty_sequences", problem({3, 9, 5}, 0)},
          {"one_step", problem({1, 4, 33}, 1)}, {"many_classes", problem({4, 2, 1001}, 1)}};
}

}  // namespace

const graph::OpDef sequence_cross_entropy_op{.name = "sequence_cross_entropy",
                                             .infer = infer,
                                             .cost = cost,
                                             .gradient = gradient,
                                             .cases = cases,
                                             .lowering = graph::Lowering::mixed,
                                             .category = graph::Category::loss};
const graph::OpDef sequence_cross_entropy_grad_op{.name = "sequence_cross_entropy_grad",
                                                  .infer = infer_grad,
                                                  .cost = cost_grad,
                                                  .lowering = graph::Lowering::mixed,
                                                  .category = graph::Category::loss};

LossAndProbabilities sequence_cross_entropy(Graph& graph, const std::string& name, ValueId logits,
                                            ValueId labels, ValueId lengths) {
  const auto made = graph.add_node(sequence_cross_entropy_op, name, {logits, labels, lengths});
  return {made[0], made[1]};
}

}  // namespace trainyard::ops
