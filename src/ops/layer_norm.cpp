#include "ops/layer_norm.h"

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

void check_channels(const NodeView& node, int input, std::int64_t channels) {
  if (!(node.input_shape(input) == Shape{channels}))
    node.refuse("input {} '{}' is {}, wants {}", input, node.input(input).name,
                node.input_shape(input).to_string(), channels);
}

std::vector<TensorType> infer_layer_norm(const NodeView& node) {
  const int vectors = node.attrs<LayerNormAttrs>().centred ? 2 : 1;
  node.want_inputs(1 + vectors, 1 + vectors);
  node.want_rank(0, 2);
  const Shape& src = node.input_shape(0);
  for (int i = 1; i <= vectors; ++i) check_channels(node, i, src[1]);
  std::vector<TensorType> types{node.input(0).type};
  types.insert(types.end(), static_cast<std::size_t>(vectors), {{src[0]}, sum_type(node.dtype())});
  return types;
}

Cost cost_layer_norm(const NodeView& node) {
  return elementwise_cost(node, node.attrs<LayerNormAttrs>().centred ? 7 : 4);
}

void gradient_layer_norm(GradientContext& context) {
  const bool centred = context.node().attrs<LayerNormAttrs>().centred;
  std::vector<ValueId> inputs{context.d_output(0), context.input(0), context.input(1), context.output(1)};
  if (centred) inputs.push_back(context.output(2));
  const auto made = context.graph().add_node(layer_norm_grad_op, context.name("/d_src"), std::move(inputs),
                                             context.node().attributes);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (context.needs(static_cast<int>(i))) context.set(static_cast<int>(i), made[i]);
}

std::vector<TensorType> infer_layer_norm_grad(const NodeView& node) {
  const bool centred = node.attrs<LayerNormAttrs>().centred;
  node.want_inputs(centred ? 5 : 4, centred ? 5 : 4);
  node.want_rank(1, 2);
  check_channels(node, 2, node.input_shape(1)[1]);
  const TensorType vector{{node.input_shape(1)[1]}, sum_type(node.dtype())};
  std::vector<TensorType> types{node.input(1).type, vector};
  if (centred) types.push_back(vector);
  return types;
}

Cost cost_layer_norm_grad(const NodeView& node) {
  return elementwise_cost(node, node.attrs<LayerNormAttrs>().centred ? 11 : 8);
}

std::string describe_layer_norm(const NodeView& node) {
  return node.attrs<LayerNormAttrs>().centred ? "" : "rms";
}

std::vector<Case> cases_layer_norm() {
  const auto problem = [](Shape src_shape, bool centred, double epsilon = 1e-5) {
    return [=](Graph& graph, DType dtype) {
      const TensorType channels{{src_shape[1]}, dtype};
      const ValueId src = graph.add_input("src", {src_shape, dtype}, Initializer::normal(2));
      const ValueId gamma = graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2));
      const ValueId beta =
          centred ? graph.add_parameter("beta", channels, Initializer::normal(1)) : graph::kNone;
      graph.mark_output(layer_norm(graph, "y", src, gamma, beta, epsilon));
    };
  };
  return {{"rows", problem({6, 64}, true)},
          {"odd", problem({5, 37}, true)},
          {"one_row", problem({1, 128}, true)},
          {"many_rows", problem({130, 48}, true)},
          {"wide", problem({3, 1030}, true)},
          {"wide_vectors", problem({9, 1536}, true)},
          {"large_epsilon", problem({4, 9}, true, 0.1)},
          {"rms", problem({6, 64}, false)},
          {"rms_odd", problem({7, 21}, false, 1e-6)},
          {"rms_wide", problem({2, 2050}, false)}};
}

}  // namespace

const graph::OpDef layer_norm_op{.name = "layer_norm",
                                 .infer = infer_layer_norm,
                                 .cost = cost_layer_norm,
                                 .gradient = gradient_layer_norm,
                                 .cases = cases_layer_norm,
                                 .describe = describe_layer_norm,
                                 .lowering = graph::Lowering::mixed,
                                 .category = graph::Category::norm,
                                 .in_place = graph::InPlace::first};
const graph::OpDef layer_norm_grad_op{.name = "layer_norm_grad",
                                      .infer = infer_layer_norm_grad,
                                      .cost = cost_layer_norm_grad,
                                      .describe = describe_layer_norm,
                                      .lowering = graph::Lowering::mixed,
                                      .category = graph::Category::norm,
                                      .in_place = graph::InPlace::first};

ValueId layer_norm(Graph& graph, const std::string& name, ValueId src, ValueId gamma, ValueId beta,
                   double epsilon) {
  std::vector<ValueId> inputs{src, gamma};
  if (beta != graph::kNone) inputs.push_back(beta);
  const LayerNormAttrs attrs{.epsilon = epsilon, .centred = beta != graph::kNone};
  return graph.add_node(layer_norm_op, name, std::move(inputs), attrs).front();
}

std::vector<const graph::OpDef*> layer_norm_ops() { return {&layer_norm_op, &layer_norm_grad_op}; }

}  // namespace trainyard::ops
