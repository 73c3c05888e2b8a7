#include "ops/sequence/graph_layers.h"

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

struct Sizes {
  std::int64_t rows, hidden, graphs;
};

// `src`: the input of that name; segments, steps and both weights follow it.
Sizes checked_sizes(const NodeView& node, int src, std::int64_t steps) {
  node.want_rank(src, 2);
  for (const int integers : {src + 1, src + 2}) {
    node.want_rank(integers, 1);
    if (node.input(integers).type.dtype != DType::i32)
      node.refuse("input {} '{}' is {}, wants i32", integers, node.input(integers).name,
                  node.input(integers).type.to_string());
  }
  const Sizes sizes{node.input_shape(src)[0], node.input_shape(src)[1], node.input_shape(src + 2)[0]};
  if (steps < 1) node.refuse("{} steps, wants at least 1", steps);
  if (node.input_shape(src + 1)[0] != sizes.graphs + 1)
    node.refuse("{} segments, wants {} for {} graphs", node.input_shape(src + 1)[0], sizes.graphs + 1,
                sizes.graphs);
  const Shape weight{4 * sizes.hidden, 2 * sizes.hidden}, recurrent{4 * sizes.hidden, sizes.hidden};
  if (!(node.input_shape(src + 3) == weight) || !(node.input_shape(src + 4) == recurrent))
    node.refuse("weights are {} and {}, wants {} and {}", node.input_shape(src + 3).to_string(),
                node.input_shape(src + 4).to_string(), weight.to_string(), recurrent.to_string());
  return sizes;
}

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(6, 6);
  const auto& attrs = node.attrs<Set2SetAttrs>();
  const auto [rows, hidden, graphs] = checked_sizes(node, 0, attrs.steps);
  if (!(node.input_shape(5) == Shape{4 * hidden}))
    node.refuse("bias is {}, wants {}", node.input_shape(5).to_string(), 4 * hidden);
  const DType dtype = node.dtype();
  std::vector<TensorType> types{{{graphs, 2 * hidden}, dtype}};
  if (!attrs.training) return types;
  types.push_back({{attrs.steps, graphs, 2 * hidden}, dtype});
  types.push_back({{attrs.steps, graphs, 4 * hidden}, dtype});
  types.push_back({{attrs.steps, graphs, hidden}, dtype});
  types.push_back({{attrs.steps, rows}, dtype});
  return types;
}

// The count covers the whole capacity. W and U both take q, so their product with it is one.
Cost one_way(const NodeView& node, const Sizes& sizes, std::int64_t steps) {
  const auto [rows, hidden, graphs] = sizes;
  constexpr std::int64_t kGates = 4 * 3 + 5, kSoftmax = 4;
  return {.flops = steps * (2 * graphs * 4 * hidden * 2 * hidden + 4 * rows * hidden),
          .elementwise_flops = steps * (kGates * graphs * hidden + kSoftmax * rows),
          .bytes_moved = bytes_touched(node)};
}

Cost cost(const NodeView& node) {
  const auto& attrs = node.attrs<Set2SetAttrs>();
  return one_way(node, checked_sizes(node, 0, attrs.steps), attrs.steps);
}

void gradient(GradientContext& context) {
  const auto& attrs = context.node().attrs<Set2SetAttrs>();
  if (!attrs.training)
    fail(ErrorKind::unsupported, "set2set '{}': no gradient in inference mode", context.node().name);
  std::vector<ValueId> inputs{context.d_output(0)};
  for (int i = 0; i < 5; ++i) inputs.push_back(context.input(i));
  for (int saved = 1; saved < 5; ++saved) {
    TRAINYARD_CHECK(context.d_output(saved) == graph::kNone);
    inputs.push_back(context.output(saved));
  }
  const auto made = context.graph().add_node(set2set_grad_op, context.name("/grad"), inputs,
                                             Set2SetGradAttrs{attrs.steps, context.needs(0)});
  for (int i = 3; i < 6; ++i)
    if (context.needs(i)) context.set(i, made[static_cast<std::size_t>(i - 3)]);
  if (context.needs(0)) context.set(0, made.back());
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(10, 10);
  const auto& attrs = node.attrs<Set2SetGradAttrs>();
  const Sizes sizes = checked_sizes(node, 1, attrs.steps);
  std::vector<TensorType> types{{node.input_shape(4), node.dtype()},
                                {node.input_shape(5), node.dtype()},
                                {{4 * sizes.hidden}, sum_type(node.dtype())}};
  if (attrs.d_src) types.push_back({node.input_shape(1), node.dtype()});
  return types;
}

Cost cost_grad(const NodeView& node) {
  const auto& attrs = node.attrs<Set2SetGradAttrs>();
  Cost cost = one_way(node, checked_sizes(node, 1, attrs.steps), attrs.steps);
  cost.flops *= 2;
  cost.elementwise_flops *= 2;
  return cost;
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<Set2SetAttrs>();
  return fmt::format("{} steps{}", attrs.steps, attrs.training ? "" : ", inference");
}
std::string describe_grad(const NodeView& node) {
  const auto& attrs = node.attrs<Set2SetGradAttrs>();
  return fmt::format("{} steps{}", attrs.steps, attrs.d_src ? "" : ", without d_src");
}

// The problem has graphs of so many nodes, and behind them `spare` rows that belong to no graph.
struct Problem {
  const char* name;
  std::vector<std::int64_t> nodes, steps;
  std::int64_t hidden;
  std::int64_t spare = 0;
  bool training = true;
};

void build(Graph& graph, DType dtype, const Problem& problem) {
  const std::int64_t hidden = problem.hidden;
  std::vector<double> segments{0};
  for (const std::int64_t count : problem.nodes)
    segments.push_back(segments.back() + static_cast<double>(count));
  const auto rows = static_cast<std::int64_t>(segments.back()) + problem.spare;
  const auto integers = [&](const char* name, const std::vector<double>& numbers) {
    return graph.add_input(name, {{static_cast<std::int64_t>(numbers.size())}, DType::i32},
                           Initializer::listed(numbers));
  };
  const auto parameter = [&](const char* name, const Shape& shape) {
    return graph.add_parameter(name, {shape, dtype}, Initializer::normal(0.4));
  };
  const Set2SetInputs inputs{graph.add_input("src", {{rows, hidden}, dtype}, Initializer::normal(1)),
                             integers("segments", segments),
                             integers("steps", {problem.steps.begin(), problem.steps.end()}),
                             parameter("weight", {4 * hidden, 2 * hidden}),
                             parameter("recurrent_weight", {4 * hidden, hidden}),
                             parameter("bias", {4 * hidden})};
  const std::int64_t most =
      std::max<std::int64_t>(1, *std::max_element(problem.steps.begin(), problem.steps.end()));
  graph.mark_output(set2set(graph, "y", inputs, {.steps = most, .training = problem.training}));
}

std::vector<Case> cases() {
  const Problem problems[] = {
      {"one_node", {1}, {2}, 4},
      {"one_step", {5, 2}, {1, 1}, 5},
      {"steps", {6}, {4}, 8},
      {"unlike_graphs", {2, 9, 4}, {1, 5, 3}, 6},
      {"no_steps", {3, 4}, {0, 3}, 7},
      {"empty_graph", {4, 0, 3}, {2, 3, 2}, 5},
      {"spare_rows", {3, 5}, {2, 3}, 9, 6},
      {"wide", {11, 17}, {2, 3}, 36},
      {"inference", {5, 8}, {1, 3}, 16, 2, false},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) { build(graph, dtype, problem); }});
  return all;
}

}  // namespace

const graph::OpDef set2set_op{.name = "set2set",
                              .infer = infer,
                              .cost = cost,
                              .gradient = gradient,
                              .cases = cases,
                              .describe = describe,
                              .lowering = graph::Lowering::exact,
                              .category = graph::Category::rnn};
const graph::OpDef set2set_grad_op{.name = "set2set_grad",
                                   .infer = infer_grad,
                                   .cost = cost_grad,
                                   .describe = describe_grad,
                                   .lowering = graph::Lowering::exact,
                                   .category = graph::Category::rnn};

ValueId set2set(Graph& graph, const std::string& name, const Set2SetInputs& inputs,
                const Set2SetAttrs& attrs) {
  return graph
      .add_node(
          set2set_op, name,
          {inputs.src, inputs.segments, inputs.steps, inputs.weight, inputs.recurrent_weight, inputs.bias},
          attrs)
      .front();
}

std::vector<const graph::OpDef*> set2set_ops() { return {&set2set_op, &set2set_grad_op}; }

}  // namespace trainyard::ops
