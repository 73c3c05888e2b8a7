#include "ops/loss.h"
#include "ops/dense.h"

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

std::vector<TensorType> infer_softmax(const NodeView& node) {
  node.want_inputs(1, 2);
  node.want_rank(0, 2);
  return {node.input(0).type};
}

Cost cost_softmax(const NodeView& node) { return elementwise_cost(node, 4); }

void gradient_softmax(GradientContext& context) {
  context.set(0, context.graph().add(softmax_grad_op, context.name("/d_src"),
                                     {context.d_output(0), context.output(0)}));
}

std::vector<Case> cases_softmax() {
  const auto problem = [](Shape shape) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {shape, dtype}, Initializer::normal(3));
      graph.mark_output(softmax(graph, "y", x));
    };
  };
  return {{"ten", problem({4, 10})}, {"thousand", problem({2, 1001})}, {"one", problem({3, 1})}};
}

}  // namespace

const graph::OpDef softmax_op{.name = "softmax",
                              .infer = infer_softmax,
                              .cost = cost_softmax,
                              .gradient = gradient_softmax,
                              .cases = cases_softmax,
                              .lowering = graph::Lowering::exact,
                              .in_place = graph::InPlace::first};
const graph::OpDef softmax_grad_op{.name = "softmax_grad",
                                   .infer = infer_softmax,
                                   .cost = cost_softmax,
                                   .lowering = graph::Lowering::exact,
                                   .in_place = graph::InPlace::first};

ValueId softmax(Graph& graph, const std::string& name, ValueId src) {
  return graph.add(softmax_op, name, {src});
}

namespace {

void check_labels(const NodeView& node, int labels, const Shape& logits) {
  const auto& type = node.input(labels).type;
  const bool integers = type.dtype == DType::i32 && type.shape == Shape{logits[0]};
  const bool soft = type.dtype == sum_type(node.dtype()) && type.shape == logits;
  if (!integers && !soft)
    node.refuse("labels are {}, wants i32 {} or {} {}", type.to_string(), logits[0],
                trainyard::name(sum_type(node.dtype())), logits.to_string());
}

std::vector<TensorType> infer_softmax_cross_entropy(const NodeView& node) {
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

Cost cost_softmax_cross_entropy(const NodeView& node) {
  return {.elementwise_flops = 6 * node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

void gradient_softmax_cross_entropy(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == graph::kNone) return;
  context.set(0, context.graph().add(softmax_cross_entropy_grad_op, context.name("/d_logits"),
                                     {context.d_output(0), context.output(1), context.input(1)},
                                     context.node().attributes));
}

std::vector<TensorType> infer_grad_softmax_cross_entropy(const NodeView& node) {
  node.want_inputs(3, 3);
  check_labels(node, 2, node.input_shape(1));
  const bool rounded = node.attrs<SoftmaxCrossEntropyAttrs>().d_logits_bf16;
  return {{node.input_shape(1), rounded ? DType::bf16 : node.dtype()}};
}

Cost cost_grad_softmax_cross_entropy(const NodeView& node) { return elementwise_cost(node, 2); }

std::vector<Case> cases_softmax_cross_entropy() {
  const auto problem = [](Shape shape, bool one_hot, double smoothing) {
    return [=](Graph& graph, DType dtype) {
      const ValueId logits = graph.add_input("logits", {shape, dtype}, Initializer::normal(2));
      // Soft labels stand for one-hot ones: a parameterless role, so the gradient check
      // leaves them alone.
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
                                            .infer = infer_softmax_cross_entropy,
                                            .cost = cost_softmax_cross_entropy,
                                            .gradient = gradient_softmax_cross_entropy,
                                            .cases = cases_softmax_cross_entropy,
                                            .lowering = graph::Lowering::mixed,
                                            .category = graph::Category::loss};
const graph::OpDef softmax_cross_entropy_grad_op{.name = "softmax_cross_entropy_grad",
                                                 .infer = infer_grad_softmax_cross_entropy,
                                                 .cost = cost_grad_softmax_cross_entropy,
                                                 .lowering = graph::Lowering::mixed,
                                                 .category = graph::Category::loss,
                                                 .in_place = graph::InPlace::second};

LossAndProbabilities softmax_cross_entropy(Graph& graph, const std::string& name, ValueId logits,
                                           ValueId labels, const SoftmaxCrossEntropyAttrs& attrs) {
  const auto made = graph.add_node(softmax_cross_entropy_op, name, {logits, labels}, attrs);
  return {made[0], made[1]};
}

namespace {

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

std::vector<TensorType> infer_sequence_cross_entropy(const NodeView& node) {
  node.want_inputs(3, 3);
  check_inputs(node, 0);
  const DType sums = sum_type(node.dtype());
  return {{{}, sums}, {{node.input_shape(1).elements()}, sums}};
}

Cost cost_sequence_cross_entropy(const NodeView& node) {
  return {.elementwise_flops = 4 * node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

void gradient_sequence_cross_entropy(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == graph::kNone) return;
  context.set(0, context.graph().add(sequence_cross_entropy_grad_op, context.name("/d_logits"),
                                     {context.d_output(0), context.input(0), context.input(1),
                                      context.input(2), context.output(1)}));
}

std::vector<TensorType> infer_grad_sequence_cross_entropy(const NodeView& node) {
  node.want_inputs(5, 5);
  check_inputs(node, 1);
  if (!(node.input_shape(4) == Shape{node.input_shape(2).elements()}))
    node.refuse("log sums are {}, wants {}", node.input_shape(4).to_string(), node.input_shape(2).elements());
  return {node.input(1).type};
}

Cost cost_grad_sequence_cross_entropy(const NodeView& node) { return elementwise_cost(node, 4); }

std::vector<Case> cases_sequence_cross_entropy() {
  const auto problem = [](Shape shape, std::int64_t least_length, bool rows = false, int least_label = 0) {
    return [=](Graph& graph, DType dtype) {
      const std::int64_t steps = shape[0], batch = shape[1];
      const ValueId logits = graph.add_input("logits", {rows ? Shape{steps * batch, shape[2]} : shape, dtype},
                                             Initializer::normal(2));
      const ValueId labels =
          graph.add_input("labels", {{steps, batch}, DType::i32},
                          Initializer::integers(least_label, static_cast<double>(shape[2])));
      const ValueId lengths = graph.add_input(
          "lengths", {{batch}, DType::i32},
          Initializer::integers(static_cast<double>(least_length), static_cast<double>(steps + 1)));
      graph.mark_output(sequence_cross_entropy(graph, "loss", logits, labels, lengths));
    };
  };
  // Logits of a wide layer, whose rows may be padded.
  const auto of_dense = [](Graph& graph, DType dtype) {
    constexpr std::int64_t kSteps = 3, kBatch = 5, kInputs = 8, kClasses = 1031;
    const ValueId src =
        graph.add_parameter("src", {{kSteps * kBatch, kInputs}, dtype}, Initializer::normal(1));
    const ValueId weight =
        graph.add_parameter("weight", {{kClasses, kInputs}, dtype}, Initializer::normal(1));
    const ValueId labels =
        graph.add_input("labels", {{kSteps, kBatch}, DType::i32}, Initializer::integers(0, kClasses));
    const ValueId lengths =
        graph.add_input("lengths", {{kBatch}, DType::i32}, Initializer::integers(1, kSteps + 1));
    const ValueId logits = dense(graph, "logits", src, weight, graph::kNone, {});
    graph.mark_output(sequence_cross_entropy(graph, "loss", logits, labels, lengths));
  };
  // Two of three steps have no label, and in the second problem none has.
  const auto labelled = [](std::int64_t steps, std::int64_t batch, std::int64_t every) {
    return [=](Graph& graph, DType dtype) {
      constexpr std::int64_t kClasses = 17;
      std::vector<double> numbers;
      for (std::int64_t i = 0; i < steps * batch; ++i)
        numbers.push_back(every > 0 && i % every == 0 ? static_cast<double>(i % kClasses) : kNoLabel);
      const ValueId logits =
          graph.add_input("logits", {{steps * batch, kClasses}, dtype}, Initializer::normal(2));
      const ValueId labels =
          graph.add_input("labels", {{steps, batch}, DType::i32}, Initializer::listed(numbers));
      const ValueId lengths = graph.add_input("lengths", {{batch}, DType::i32},
                                              Initializer::integers(1, static_cast<double>(steps + 1)));
      graph.mark_output(sequence_cross_entropy(graph, "loss", logits, labels, lengths));
    };
  };
  return {{"wide_rows_of_dense", of_dense},
          {"masked", problem({6, 4, 10}, 1)},
          {"rows", problem({5, 6, 12}, 1, true)},
          {"all_steps", problem({5, 3, 7}, 5)},
          {"empty_sequences", problem({3, 9, 5}, 0)},
          {"one_step", problem({1, 4, 33}, 1)},
          {"many_classes", problem({4, 2, 1001}, 1)},
          {"long_rows", problem({3, 3, 1501}, 1)},
          {"few_labels", labelled(23, 20, 3)},
          {"no_labels", labelled(2, 3, 0)},
          {"some_labels", problem({7, 5, 3}, 1, false, kNoLabel)}};
}

}  // namespace

const graph::OpDef sequence_cross_entropy_op{.name = "sequence_cross_entropy",
                                             .infer = infer_sequence_cross_entropy,
                                             .cost = cost_sequence_cross_entropy,
                                             .gradient = gradient_sequence_cross_entropy,
                                             .cases = cases_sequence_cross_entropy,
                                             .lowering = graph::Lowering::mixed,
                                             .category = graph::Category::loss};
const graph::OpDef sequence_cross_entropy_grad_op{.name = "sequence_cross_entropy_grad",
                                                  .infer = infer_grad_sequence_cross_entropy,
                                                  .cost = cost_grad_sequence_cross_entropy,
                                                  .lowering = graph::Lowering::mixed,
                                                  .category = graph::Category::loss,
                                                  .in_place = graph::InPlace::second};

ValueId sequence_cross_entropy(Graph& graph, const std::string& name, ValueId logits, ValueId labels,
                               ValueId lengths) {
  return graph.add_node(sequence_cross_entropy_op, name, {logits, labels, lengths}).front();
}

namespace {

std::vector<TensorType> infer_classify(const NodeView& node) {
  node.want_inputs(4, 4);
  node.want_rank(0, 2);
  node.want_rank(1, 2);
  const Shape &src = node.input_shape(0), &weight = node.input_shape(1);
  if (weight[1] != src[1])
    node.refuse("weight is {}, input is {}: the last dimensions must agree", weight.to_string(),
                src.to_string());
  if (!(node.input_shape(2) == Shape{weight[0]}))
    node.refuse("bias is {}, wants {}", node.input_shape(2).to_string(), weight[0]);
  const auto& labels = node.input(3).type;
  if (labels.dtype != DType::i32 || !(labels.shape == Shape{src[0]}))
    node.refuse("labels are {}, wants i32 {}", labels.to_string(), src[0]);
  const DType sums = sum_type(node.dtype());
  const Shape logits{src[0], weight[0]};
  std::vector<TensorType> types{
      {logits, node.dtype()}, {{}, sums}, {logits, sums}, {logits, node.dtype()}, {src, node.dtype()}};
  if (node.attrs<ClassifyAttrs>().dropout.rate > 0) types.push_back(types.back());
  return types;
}

Cost cost_classify(const NodeView& node) {
  return {.flops = 4 * node.input_shape(0)[0] * node.input_shape(1).elements(),
          .elementwise_flops = 7 * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<ClassifyAttrs>();
  const std::string before = attrs.dropout.rate > 0 ? fmt::format("dropout {}, ", attrs.dropout.rate) : "";
  return before + (attrs.mask_scale != 0 ? "back through a relu" : "");
}

std::vector<Case> cases_classify() {
  struct Problem {
    const char* name;
    Shape src;
    std::int64_t classes;
    ClassifyAttrs attrs;
  };
  const Problem problems[] = {{"ten", {5, 64}, 10, {}},
                              {"through_relu_and_dropout", {6, 1024}, 10, {0, 2}},
                              {"with_dropout", {5, 256}, 10, {0, 2, {0.5, 3}}},
                              {"odd_with_dropout", {3, 21}, 4, {0.1, 0, {0.2, 5}}},
                              {"odd_smoothed", {4, 37}, 3, {0.1, 1}},
                              {"many", {3, 160}, 32, {}}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const std::int64_t classes = problem.classes, inputs = problem.src[1];
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     const ValueId weight = graph.add_state("weight", {{classes, inputs}, dtype},
                                                            graph::Role::parameter, Initializer::normal(0.2));
                     const ValueId bias = graph.add_state("bias", {{classes}, dtype}, graph::Role::parameter,
                                                          Initializer::normal(0.2));
                     const ValueId labels =
                         graph.add_input("labels", {{problem.src[0]}, DType::i32},
                                         Initializer::integers(0, static_cast<double>(classes)));
                     for (const ValueId output :
                          graph.add_node(classify_op, "y", {src, weight, bias, labels}, problem.attrs))
                       graph.mark_output(output);
                   }});
  return all;
}

}  // namespace

const graph::OpDef classify_op{.name = "classify",
                               .infer = infer_classify,
                               .cost = cost_classify,
                               .cases = cases_classify,
                               .describe = describe,
                               .lowering = graph::Lowering::computes,
                               .category = graph::Category::gemm};

std::vector<const graph::OpDef*> loss_ops() {
  return {&softmax_op,
          &softmax_grad_op,
          &softmax_cross_entropy_op,
          &softmax_cross_entropy_grad_op,
          &sequence_cross_entropy_op,
          &sequence_cross_entropy_grad_op,
          &classify_op};
}

}  // namespace trainyard::ops
