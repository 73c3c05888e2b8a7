#include "ops/norm.h"

namespace trainyard::ops {

namespace {

using graph::Case;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  const int inputs = node.attrs<BatchNormApplyAttrs>().residual ? 6 : 5;
  node.want_inputs(inputs, inputs);
  const Shape& src = node.input_shape(0);
  if (src.rank() != 2 && src.rank() != 4)
    node.refuse("input is {}, wants 2 or 4 dimensions", src.to_string());
  for (int i = 1; i < 5; ++i)
    if (!(node.input_shape(i) == Shape{src[1]}))
      node.refuse("input {} '{}' is {}, wants {}", i, node.input(i).name, node.input_shape(i).to_string(),
                  src[1]);
  if (inputs == 6 && !(node.input(5).type == node.input(0).type))
    node.refuse("the residual is {}, wants {}", node.input(5).type.to_string(),
                node.input(0).type.to_string());
  return {node.input(0).type};
}

graph::Cost cost(const NodeView& node) { return graph::elementwise_cost(node, 2); }

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<BatchNormApplyAttrs>();
  const std::string text = std::string(attrs.residual ? "residual" : "") + fused_text(attrs.activation.kind);
  return text.starts_with(" + ") ? text.substr(3) : text;
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    Shape src;
    BatchNormApplyAttrs attrs;
  };
  const BatchNormApplyAttrs relu{{Activation::relu}}, residual{{Activation::none}, true},
      residual_relu{{Activation::relu}, true};
  const Problem problems[] = {
      {"plain", {4, 16, 5, 5}, {}},          {"relu", {3, 32, 4, 4}, relu},
      {"odd_channels", {4, 7, 3, 3}, {}},    {"odd_channels_relu", {2, 5, 36, 36}, relu},
      {"one_image", {1, 24, 6, 2}, relu},    {"matrix", {8, 12}, {}},
      {"matrix_relu", {5, 3}, relu},         {"many_rows", {2, 72, 32, 32}, relu},
      {"residual", {2, 16, 3, 3}, residual}, {"residual_relu", {2, 7, 4, 4}, residual_relu}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const TensorType channels{{problem.src[1]}, dtype}, src{problem.src, dtype};
                     std::vector<ValueId> inputs{
                         graph.add_input("src", src, Initializer::normal(2)),
                         graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2)),
                         graph.add_parameter("beta", channels, Initializer::normal(1)),
                         graph.add_input("mean", channels, Initializer::normal(1)),
                         graph.add_input("inverse_deviation", channels, Initializer::uniform(0.5, 2))};
                     if (problem.attrs.residual)
                       inputs.push_back(graph.add_input("residual", src, Initializer::normal(1)));
                     graph.mark_output(graph.add(batch_norm_apply_op, "y", inputs, problem.attrs));
                   }});
  return all;
}

}  // namespace

const graph::OpDef batch_norm_apply_op{.name = "batch_norm_apply",
                                       .infer = infer,
                                       .cost = cost,
                                       .cases = cases,
                                       .describe = describe,
                                       .lowering = graph::Lowering::mixed,
                                       .category = graph::Category::norm,
                                       .in_place = graph::InPlace::first};

std::vector<const graph::OpDef*> batch_norm_apply_ops() { return {&batch_norm_apply_op}; }

}  // namespace trainyard::ops
