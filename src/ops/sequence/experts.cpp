#include "ops/sequence/experts.h"

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

void check_scores(const NodeView& node, int input) {
  node.want_rank(input, 2);
  if (node.input_shape(input)[1] > kMostExperts)
    node.refuse("scores of {} experts, at most {} are possible", node.input_shape(input)[1], kMostExperts);
}

void check_integers(const NodeView& node, int input, const Shape& wanted) {
  const TensorType& type = node.input(input).type;
  if (type.dtype != DType::i32 || !(type.shape == wanted))
    node.refuse("input {} '{}' is {}, wants i32 {}", input, node.input(input).name, type.to_string(),
                wanted.to_string());
}

void check_shape(const NodeView& node, int input, const Shape& wanted) {
  if (!(node.input_shape(input) == wanted))
    node.refuse("input {} '{}' is {}, wants {}", input, node.input(input).name,
                node.input_shape(input).to_string(), wanted.to_string());
}

// Places are numbers of 32 bits.
void check_places(const NodeView& node, std::int64_t rows, std::int64_t choices) {
  if (rows * choices > std::numeric_limits<std::int32_t>::max())
    node.refuse("{} rows with {} choices each are more than 32 bits count", rows, choices);
}

std::vector<TensorType> infer_route(const NodeView& node) {
  node.want_inputs(1, 1);
  check_scores(node, 0);
  const std::int64_t rows = node.input_shape(0)[0], experts = node.input_shape(0)[1],
                     choices = node.attrs<RouteAttrs>().choices;
  if (choices < 1 || choices > experts) node.refuse("{} choices among {} experts", choices, experts);
  check_places(node, rows, choices);
  const TensorType integers{{rows, choices}, DType::i32};
  return {{{rows, choices}, sum_type(node.dtype())}, integers, integers, {{experts + 1}, DType::i32}};
}

// A comparison of each score for each choice; an exponential and a division for each gate.
Cost cost_route(const NodeView& node) {
  return {.elementwise_flops = node.attrs<RouteAttrs>().choices * node.input_shape(0).elements() +
                               3 * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

void gradient_route(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == kNone) return;
  const std::int64_t experts = context.graph().shape(context.input(0))[1];
  context.set(0, context.graph().add(route_grad_op, context.name("/d_scores"),
                                     {context.d_output(0), context.output(0), context.output(1)},
                                     RouteGradAttrs{experts}));
}

std::vector<TensorType> infer_route_grad(const NodeView& node) {
  node.want_inputs(3, 3);
  node.want_rank(1, 2);
  check_shape(node, 0, node.input_shape(1));
  check_integers(node, 2, node.input_shape(1));
  return {{{node.input_shape(1)[0], node.attrs<RouteGradAttrs>().experts}, node.input(1).type.dtype}};
}

Cost cost_route_grad(const NodeView& node) {
  return {.elementwise_flops = 4 * node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

std::string describe_route(const NodeView& node) {
  return fmt::format("{} of {} experts", node.attrs<RouteAttrs>().choices, node.input_shape(0)[1]);
}

// Scores of some kind for rows and experts.
enum class Scores : std::uint8_t { any, one_expert, few_experts };

Initializer initializer_of(Scores kind, std::int64_t rows, std::int64_t experts) {
  if (kind == Scores::any) return Initializer::normal(1);
  std::vector<double> numbers;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t e = 0; e < experts; ++e) {
      const double some = static_cast<double>((r * 37 + e * 11) % 29) / 8;
      if (kind == Scores::one_expert)
        numbers.push_back(e == experts - 1 ? 9 : some);
      else
        numbers.push_back(e % 3 == 1 ? 6 + some : some - static_cast<double>(e));
    }
  return Initializer::listed(std::move(numbers));
}

struct RouteProblem {
  const char* name;
  std::int64_t rows, experts, choices, width;
  Scores scores = Scores::any;
};

constexpr RouteProblem kProblems[] = {
    {"two_of_four", 20, 4, 2, 8},
    {"one_of_four", 17, 4, 1, 33},
    {"all_of_three", 9, 3, 3, 16},
    {"one_row", 1, 8, 2, 24},
    {"many_rows", 600, 5, 2, 12},
    {"many_experts", 40, 130, 6, 4},
    {"all_to_one_expert", 300, 4, 1, 5, Scores::one_expert},
    {"empty_experts", 30, 8, 2, 64, Scores::few_experts},
    {"only_expert", 6, 1, 1, 7},
};

ValueId add_scores(Graph& graph, DType dtype, const RouteProblem& problem) {
  return graph.add_input("scores", {{problem.rows, problem.experts}, dtype},
                         initializer_of(problem.scores, problem.rows, problem.experts));
}

// Calls build(graph, dtype, problem, routed) for each problem.
template <typename Build>
std::vector<Case> routed_cases(const Build& build) {
  std::vector<Case> all;
  for (const RouteProblem& problem : kProblems)
    all.push_back({problem.name, [problem, build](Graph& graph, DType dtype) {
                     build(graph, dtype, problem,
                           route(graph, "route", add_scores(graph, dtype, problem), {problem.choices}));
                   }});
  return all;
}

std::vector<Case> cases_route() {
  return routed_cases([](Graph& graph, DType, const RouteProblem&, const Routed& routed) {
    graph.mark_output(routed.gates);
  });
}

}  // namespace

const graph::OpDef route_op{.name = "route",
                            .infer = infer_route,
                            .cost = cost_route,
                            .gradient = gradient_route,
                            .cases = cases_route,
                            .describe = describe_route,
                            .lowering = graph::Lowering::exact,
                            .category = graph::Category::copy};
const graph::OpDef route_grad_op{.name = "route_grad",
                                 .infer = infer_route_grad,
                                 .cost = cost_route_grad,
                                 .lowering = graph::Lowering::exact,
                                 .category = graph::Category::copy};

Routed route(Graph& graph, const std::string& name, ValueId scores, const RouteAttrs& attrs) {
  const std::vector<ValueId> made = graph.add_node(route_op, name, {scores}, attrs);
  return {made[0], made[1], made[2], made[3]};
}

namespace {

std::vector<TensorType> infer_dispatch(const NodeView& node) {
  node.want_inputs(2, 2);
  node.want_rank(0, 2);
  node.want_rank(1, 2);
  const Shape& src = node.input_shape(0);
  const std::int64_t choices = node.input_shape(1)[1];
  check_integers(node, 1, {src[0], choices});
  check_places(node, src[0], choices);
  return {{{src[0] * choices, src[1]}, node.dtype()}};
}

Cost cost_dispatch(const NodeView& node) { return {.bytes_moved = bytes_touched(node)}; }

void gradient_dispatch(GradientContext& context) {
  if (!context.needs(0)) return;
  context.set(0, context.graph().add(dispatch_d_src_op, context.name("/d_src"),
                                     {context.d_output(0), context.input(1)}));
}

std::vector<TensorType> infer_dispatch_d_src(const NodeView& node) {
  node.want_inputs(2, 2);
  node.want_rank(0, 2);
  node.want_rank(1, 2);
  const Shape& place = node.input_shape(1);
  check_integers(node, 1, place);
  check_shape(node, 0, {place.elements(), node.input_shape(0)[1]});
  return {{{place[0], node.input_shape(0)[1]}, node.dtype()}};
}

Cost cost_dispatch_d_src(const NodeView& node) {
  return {.elementwise_flops = node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

std::vector<Case> cases_dispatch() {
  return routed_cases([](Graph& graph, DType dtype, const RouteProblem& problem, const Routed& routed) {
    const ValueId src =
        graph.add_input("src", {{problem.rows, problem.width}, dtype}, Initializer::normal(1));
    graph.mark_output(dispatch(graph, "y", src, routed.place));
    graph.mark_output(routed.gates);  // the scores have a gradient then
  });
}

std::vector<TensorType> infer_combine(const NodeView& node) {
  node.want_inputs(3, 3);
  node.want_rank(0, 2);
  node.want_rank(1, 2);
  const Shape& gates = node.input_shape(1);
  check_shape(node, 0, {gates.elements(), node.input_shape(0)[1]});
  check_integers(node, 2, gates);
  return {{{gates[0], node.input_shape(0)[1]}, node.dtype()}};
}

Cost cost_combine(const NodeView& node) {
  return {.elementwise_flops = 2 * node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

void gradient_combine(GradientContext& context) {
  const auto made =
      context.graph().add_node(combine_grad_op, context.name("/d_src"),
                               {context.d_output(0), context.input(0), context.input(1), context.input(2)});
  for (int i = 0; i < 2; ++i)
    if (context.needs(i)) context.set(i, made[static_cast<std::size_t>(i)]);
}

std::vector<TensorType> infer_combine_grad(const NodeView& node) {
  node.want_inputs(4, 4);
  node.want_rank(1, 2);
  node.want_rank(2, 2);
  const Shape &src = node.input_shape(1), &gates = node.input_shape(2);
  check_shape(node, 1, {gates.elements(), src[1]});
  check_shape(node, 0, {gates[0], src[1]});
  check_integers(node, 3, gates);
  return {node.input(1).type, node.input(2).type};
}

Cost cost_combine_grad(const NodeView& node) {
  return {.elementwise_flops = 3 * node.input_shape(1).elements(), .bytes_moved = bytes_touched(node)};
}

std::vector<Case> cases_combine() {
  return routed_cases([](Graph& graph, DType dtype, const RouteProblem& problem, const Routed& routed) {
    const ValueId src = graph.add_input("src", {{problem.rows * problem.choices, problem.width}, dtype},
                                        Initializer::normal(1));
    graph.mark_output(combine(graph, "y", src, routed));
  });
}

}  // namespace

const graph::OpDef dispatch_op{.name = "dispatch",
                               .infer = infer_dispatch,
                               .cost = cost_dispatch,
                               .gradient = gradient_dispatch,
                               .cases = cases_dispatch,
                               .lowering = graph::Lowering::computes,
                               .category = graph::Category::copy};
const graph::OpDef dispatch_d_src_op{.name = "dispatch_d_src",
                                     .infer = infer_dispatch_d_src,
                                     .cost = cost_dispatch_d_src,
                                     .lowering = graph::Lowering::computes,
                                     .category = graph::Category::copy};
const graph::OpDef combine_op{.name = "combine",
                              .infer = infer_combine,
                              .cost = cost_combine,
                              .gradient = gradient_combine,
                              .cases = cases_combine,
                              .lowering = graph::Lowering::mixed};
const graph::OpDef combine_grad_op{.name = "combine_grad",
                                   .infer = infer_combine_grad,
                                   .cost = cost_combine_grad,
                                   .lowering = graph::Lowering::mixed,
                                   .in_place = graph::InPlace::second};

ValueId dispatch(Graph& graph, const std::string& name, ValueId src, ValueId place) {
  return graph.add(dispatch_op, name, {src, place});
}

ValueId combine(Graph& graph, const std::string& name, ValueId src, const Routed& routed) {
  return graph.add(combine_op, name, {src, routed.gates, routed.place});
}

std::vector<const graph::OpDef*> experts_ops() {
  return {&route_op, &route_grad_op, &dispatch_op, &dispatch_d_src_op, &combine_op, &combine_grad_op};
}

}  // namespace trainyard::ops
