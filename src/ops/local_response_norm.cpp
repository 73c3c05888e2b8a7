#include "ops/local_response_norm.h"

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

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(1, 2);
  node.want_rank(0, 4);
  const auto& attrs = node.attrs<LocalResponseNormAttrs>();
  if (attrs.window < 1 || attrs.window % 2 == 0) node.refuse("window {} is not an odd number", attrs.window);
  return {node.input(0).type};
}

Cost cost(const NodeView& node) {
  return elementwise_cost(node, 2 * node.attrs<LocalResponseNormAttrs>().window + 4);
}

void gradient(GradientContext& context) {
  context.set(0, context.graph().add(local_response_norm_grad_op, context.name("/d_src"),
                                     {context.d_output(0), context.input(0)}, context.node().attributes));
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<LocalResponseNormAttrs>();
  return fmt::format("window {} alpha {:.3g} beta {}", attrs.window, attrs.alpha, attrs.beta);
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    Shape src;
    LocalResponseNormAttrs attrs;
  };
  const Problem problems[] = {
      {"cifarnet", {2, 64, 4, 4}, {}},
      {"strong", {2, 32, 3, 3}, {.window = 9, .k = 1, .alpha = 0.1, .beta = 0.75}},
      {"alexnet", {1, 16, 3, 5}, {.window = 5, .k = 2, .alpha = 0.1, .beta = 0.75}},
      {"odd_channels", {2, 7, 3, 3}, {.window = 5, .k = 1, .alpha = 0.2, .beta = 0.5}},
      {"window_wider_than_channels", {1, 3, 2, 2}, {.window = 9, .k = 1, .alpha = 0.2, .beta = 0.75}},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     graph.mark_output(local_response_norm(graph, "y", src, problem.attrs));
                   }});
  return all;
}

}  // namespace

const graph::OpDef local_response_norm_op{.name = "local_response_norm",
                                          .infer = infer,
                                          .cost = cost,
                                          .gradient = gradient,
                                          .cases = cases,
                                          .describe = describe,
                                          .category = graph::Category::norm};
const graph::OpDef local_response_norm_grad_op{.name = "local_response_norm_grad",
                                               .infer = infer,
                                               .cost = cost,
                                               .describe = describe,
                                               .category = graph::Category::norm};

ValueId local_response_norm(Graph& graph, const std::string& name, ValueId src,
                            const LocalResponseNormAttrs& attrs) {
  return graph.add(local_response_norm_op, name, {src}, attrs);
}

}  // namespace trainyard::ops
