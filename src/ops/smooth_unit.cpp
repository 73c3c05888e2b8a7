#include "ops/smooth_unit.h"

#include "ops/dense.h"

namespace trainyard::ops {

const char* name(SmoothKind kind) {
  switch (kind) {
    case SmoothKind::gelu:
      return "gelu";
    case SmoothKind::gelu_tanh:
      return "gelu_tanh";
    case SmoothKind::silu:
      return "silu";
  }
  return "?";
}

namespace {

using graph::Case;
using graph::Cost;
using graph::GradientContext;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer_smooth_unit(const NodeView& node) {
  node.want_inputs(1, 1);
  if (!node.attrs<SmoothUnitAttrs>().gated) return {node.input(0).type};
  node.want_rank(0, 2);
  const Shape& src = node.input_shape(0);
  if (src[1] % 2 != 0) node.refuse("input {} has no two halves", src.to_string());
  return {{{src[0], src[1] / 2}, node.dtype()}};
}

Cost cost_smooth_unit(const NodeView& node) {
  return elementwise_cost(node, node.attrs<SmoothUnitAttrs>().gated ? 9 : 8);
}

void gradient_smooth_unit(GradientContext& context) {
  context.set(0, context.graph().add(smooth_unit_grad_op, context.name("/d_src"),
                                     {context.d_output(0), context.input(0)}, context.node().attributes));
}

std::vector<TensorType> infer_smooth_unit_grad(const NodeView& node) {
  const auto& attrs = node.attrs<SmoothUnitAttrs>();
  node.want_inputs(2, 2);
  std::vector<TensorType> types{node.input(1).type};
  if (attrs.column_sums) {
    node.want_rank(1, 2);
    if (attrs.gated) node.refuse("a gated unit sums no columns");
    types.push_back({{node.input_shape(1)[1]}, sum_type(node.dtype())});
  }
  return types;
}

Cost cost_smooth_unit_grad(const NodeView& node) {
  return elementwise_cost(node, node.attrs<SmoothUnitAttrs>().column_sums ? 13 : 12);
}

std::string describe_smooth_unit(const NodeView& node) {
  const auto& attrs = node.attrs<SmoothUnitAttrs>();
  return std::string(name(attrs.kind)) + (attrs.gated ? ", gated" : "") +
         (attrs.column_sums ? ", with a bias" : "");
}

std::vector<Case> cases_smooth_unit() {
  std::vector<Case> all;
  for (const SmoothKind kind : {SmoothKind::gelu, SmoothKind::gelu_tanh, SmoothKind::silu})
    for (const bool gated : {false, true})
      for (const Shape& shape : {Shape{5, 38}, Shape{3, 128}})
        all.push_back(
            {std::string(name(kind)) + (gated ? "_gated_" : "_") + shape.to_string(),
             [=](Graph& graph, DType dtype) {
               const ValueId src = graph.add_input("src", {shape, dtype}, Initializer::uniform(-6, 6));
               graph.mark_output(smooth_unit(graph, "y", src, {kind, gated}));
             }});
  all.push_back({"gelu_of_an_image", [](Graph& graph, DType dtype) {
                   const ValueId src = graph.add_input("src", {{2, 16, 3, 3}, dtype}, Initializer::normal(2));
                   graph.mark_output(smooth_unit(graph, "y", src, {}));
                 }});
  // The fusion pass lets the unit's gradient sum that of the bias.
  all.push_back(
      {"gelu_behind_a_layer", [](Graph& graph, DType dtype) {
         const ValueId src = graph.add_input("src", {{40, 24}, dtype}, Initializer::normal(1));
         const ValueId weight = graph.add_parameter("weight", {{72, 24}, dtype}, Initializer::normal(0.3));
         const ValueId bias = graph.add_parameter("bias", {{72}, dtype}, Initializer::normal(1));
         graph.mark_output(smooth_unit(graph, "y", dense(graph, "layer", src, weight, bias), {}));
       }});
  return all;
}

}  // namespace

const graph::OpDef smooth_unit_op{.name = "smooth_unit",
                                  .infer = infer_smooth_unit,
                                  .cost = cost_smooth_unit,
                                  .gradient = gradient_smooth_unit,
                                  .cases = cases_smooth_unit,
                                  .describe = describe_smooth_unit};
const graph::OpDef smooth_unit_grad_op{.name = "smooth_unit_grad",
                                       .infer = infer_smooth_unit_grad,
                                       .cost = cost_smooth_unit_grad,
                                       .describe = describe_smooth_unit};

ValueId smooth_unit(Graph& graph, const std::string& name, ValueId src, const SmoothUnitAttrs& attrs) {
  return graph.add(smooth_unit_op, name, {src}, attrs);
}

std::vector<const graph::OpDef*> smooth_unit_ops() { return {&smooth_unit_op, &smooth_unit_grad_op}; }

}  // namespace trainyard::ops
