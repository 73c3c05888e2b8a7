#include "ops/sequence/experts.h"

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

// Scores are an input, and offsets the next one.
void check_layer(const NodeView& node, int input) {
  node.want_rank(input, 2);
  const Shape& scores = node.input_shape(input);
  const TensorType& offsets = node.input(input + 1).type;
  if (offsets.dtype != DType::i32 || !(offsets.shape == Shape{scores[1] + 1}))
    node.refuse("scores are {}, offsets are {}, wants i32 {}", scores.to_string(), offsets.to_string(),
                scores[1] + 1);
}

std::vector<TensorType> infer_balance(const NodeView& node) {
  if (node.inputs() < 2 || node.inputs() % 2 != 0)
    node.refuse("got {} inputs, wants scores and offsets of each layer", node.inputs());
  for (int i = 0; i < node.inputs(); i += 2) {
    check_layer(node, i);
  }
  return {{{}, sum_type(node.dtype())}};
}

// An exponential and its sums for each score.
Cost cost_balance(const NodeView& node) {
  std::int64_t scores = 0;
  for (int i = 0; i < node.inputs(); i += 2) scores += node.input_shape(i).elements();
  return {.elementwise_flops = 4 * scores, .bytes_moved = bytes_touched(node)};
}

void gradient_balance(GradientContext& context) {
  for (int i = 0; i < static_cast<int>(context.node().inputs.size()); i += 2)
    if (context.needs(i))
      context.set(i, context.graph().add(balance_penalty_grad_op, context.name("/d_scores"),
                                         {context.d_output(0), context.input(i), context.input(i + 1)},
                                         context.node().attributes));
}

std::vector<TensorType> infer_balance_grad(const NodeView& node) {
  node.want_inputs(3, 3);
  check_layer(node, 1);
  return {{node.input_shape(1), sum_type(node.input(1).type.dtype)}};
}

Cost cost_balance_grad(const NodeView& node) { return elementwise_cost(node, 7); }

std::string describe_balance(const NodeView& node) {
  return fmt::format("{}", node.attrs<BalanceAttrs>().coefficient);
}

std::vector<Case> cases_balance() {
  struct Problem {
    const char* name;
    std::int64_t rows, choices;
    std::vector<std::int64_t> experts;  // of each layer
    double shift = 0;                   // of the scores of the last expert
  };
  const Problem problems[] = {
      {"two_of_four", 20, 2, {4}}, {"one_of_five", 33, 1, {5}},         {"three_of_seven", 9, 3, {7}},
      {"many_rows", 700, 2, {6}},  {"many_experts", 40, 6, {130}},      {"all_to_one_expert", 50, 1, {4}, 9},
      {"one_row", 1, 2, {8}},      {"three_layers", 50, 2, {2, 5, 40}},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     std::vector<Balanced> layers;
                     for (const std::int64_t experts : problem.experts) {
                       std::vector<double> numbers;
                       for (std::int64_t i = 0; i < problem.rows * experts; ++i)
                         numbers.push_back(std::sin(1.7 * static_cast<double>(i * i)) +
                                           (i % experts == experts - 1 ? problem.shift : 0));
                       const ValueId scores =
                           graph.add_input(fmt::format("scores_of_{}", experts),
                                           {{problem.rows, experts}, dtype}, Initializer::listed(numbers));
                       layers.push_back({scores, route(graph, "route", scores, {problem.choices}).offsets});
                     }
                     graph.mark_output(balance_penalty(graph, "penalty", layers, 0.3));
                   }});
  return all;
}

}  // namespace

const graph::OpDef balance_penalty_op{.name = "balance_penalty",
                                      .infer = infer_balance,
                                      .cost = cost_balance,
                                      .gradient = gradient_balance,
                                      .cases = cases_balance,
                                      .describe = describe_balance,
                                      .lowering = graph::Lowering::exact,
                                      .category = graph::Category::loss};
const graph::OpDef balance_penalty_grad_op{.name = "balance_penalty_grad",
                                           .infer = infer_balance_grad,
                                           .cost = cost_balance_grad,
                                           .describe = describe_balance,
                                           .lowering = graph::Lowering::exact,
                                           .category = graph::Category::loss};

ValueId balance_penalty(Graph& graph, const std::string& name, const std::vector<Balanced>& layers,
                        double coefficient) {
  std::vector<ValueId> inputs;
  for (const Balanced& layer : layers) inputs.insert(inputs.end(), {layer.scores, layer.offsets});
  return graph.add(balance_penalty_op, name, std::move(inputs), BalanceAttrs{coefficient});
}

std::vector<const graph::OpDef*> balance_penalty_ops() {
  return {&balance_penalty_op, &balance_penalty_grad_op};
}

}  // namespace trainyard::ops
