#include "ops/pointwise.h"

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

struct Row {
  PointwiseKind kind;
  const char* name;
  std::int64_t operations;  // for each number, and as many for its slope
  double a, b;              // of its cases
  double low, high;         // of the numbers in its cases
};

const Row kRows[] = {{PointwiseKind::linear, "linear", 2, 1.7, -0.3, -4, 4},
                     {PointwiseKind::clip, "clip", 2, -1, 2, -4, 4},
                     {PointwiseKind::elu, "elu", 4, 1.3, 1.1, -4, 4},
                     {PointwiseKind::celu, "celu", 4, 1.3, 0, -4, 4},
                     {PointwiseKind::hard_sigmoid, "hard_sigmoid", 4, 0.2, 0.5, -6, 6},
                     {PointwiseKind::hard_swish, "hard_swish", 4, 1, 0, -6, 6},
                     {PointwiseKind::softplus, "softplus", 3, 1, 0, -25, 25},
                     {PointwiseKind::softsign, "softsign", 3, 1, 0, -4, 4},
                     {PointwiseKind::mish, "mish", 5, 1, 0, -6, 6},
                     {PointwiseKind::threshold, "threshold", 1, 0.7, 0, -4, 4},
                     {PointwiseKind::exp, "exp", 1, 1, 0, -3, 3},
                     {PointwiseKind::log, "log", 1, 1, 0, 0.3, 5},
                     {PointwiseKind::sqrt, "sqrt", 1, 1, 0, 0.3, 5},
                     {PointwiseKind::reciprocal, "reciprocal", 1, 1, 0, 0.3, 5},
                     {PointwiseKind::power, "power", 2, 2.5, 0, 0.3, 3},
                     {PointwiseKind::absolute, "absolute", 1, 1, 0, -4, 4},
                     {PointwiseKind::erf, "erf", 2, 1, 0, -3, 3},
                     {PointwiseKind::sin, "sin", 1, 1, 0, -4, 4},
                     {PointwiseKind::cos, "cos", 1, 1, 0, -4, 4}};

const Row& row_of(PointwiseKind kind) {
  for (const Row& row : kRows)
    if (row.kind == kind) return row;
  return kRows[0];
}

const Row& row_of(const NodeView& node) { return row_of(node.attrs<PointwiseAttrs>().kind); }

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(1, 1);
  return {node.input(0).type};
}

Cost cost(const NodeView& node) { return elementwise_cost(node, row_of(node).operations); }

void gradient(GradientContext& context) {
  context.set(0, context.graph().add(pointwise_grad_op, context.name("/d_src"),
                                     {context.d_output(0), context.input(0)}, context.node().attributes));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(2, 2);
  return {node.input(1).type};
}

Cost cost_grad(const NodeView& node) { return elementwise_cost(node, row_of(node).operations + 1); }

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<PointwiseAttrs>();
  return fmt::format("{} {} {}", name(attrs.kind), attrs.a, attrs.b);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Row& row : kRows)
    for (const Shape& shape : {Shape{5, 37}, Shape{2, 16, 3, 3}})
      all.push_back(
          {std::string(row.name) + "_" + shape.to_string(), [&row, shape](Graph& graph, DType dtype) {
             const ValueId src =
                 graph.add_input("src", {shape, dtype}, Initializer::uniform(row.low, row.high));
             graph.mark_output(pointwise(graph, "y", src, {row.kind, row.a, row.b}));
           }});
  return all;
}

}  // namespace

const char* name(PointwiseKind kind) { return row_of(kind).name; }

const graph::OpDef pointwise_op{.name = "pointwise",
                                .infer = infer,
                                .cost = cost,
                                .gradient = gradient,
                                .cases = cases,
                                .describe = describe,
                                .in_place = graph::InPlace::first};
const graph::OpDef pointwise_grad_op{.name = "pointwise_grad",
                                     .infer = infer_grad,
                                     .cost = cost_grad,
                                     .describe = describe,
                                     .in_place = graph::InPlace::first};

ValueId pointwise(Graph& graph, const std::string& name, ValueId src, const PointwiseAttrs& attrs) {
  return graph.add(pointwise_op, name, {src}, attrs);
}

std::vector<const graph::OpDef*> pointwise_ops() { return {&pointwise_op, &pointwise_grad_op}; }

}  // namespace trainyard::ops
