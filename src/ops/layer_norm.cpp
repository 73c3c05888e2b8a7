#include "ops/layer_norm.h"

#include "ops/elementwise.h"

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

// The term that is added is the last input.
void check_term(const NodeView& node, const TensorType& wanted) {
  if (const TensorType& term = node.input(node.inputs() - 1).type; !(term == wanted))
    node.refuse("the term is {}, wants {}", term.to_string(), wanted.to_string());
}

std::vector<TensorType> infer_layer_norm(const NodeView& node) {
  const auto& attrs = node.attrs<LayerNormAttrs>();
  const int vectors = attrs.centred ? 2 : 1, inputs = 1 + vectors + (attrs.adds ? 1 : 0);
  node.want_inputs(inputs, inputs);
  node.want_rank(0, 2);
  const Shape& src = node.input_shape(0);
  for (int i = 1; i <= vectors; ++i) check_channels(node, i, src[1]);
  std::vector<TensorType> types{node.input(0).type};
  types.insert(types.end(), static_cast<std::size_t>(vectors), {{src[0]}, sum_type(node.dtype())});
  if (attrs.adds) {
    check_term(node, node.input(0).type);
    types.push_back(node.input(0).type);
  }
  return types;
}

Cost cost_layer_norm(const NodeView& node) {
  const auto& attrs = node.attrs<LayerNormAttrs>();
  return elementwise_cost(node, (attrs.centred ? 7 : 4) + (attrs.adds ? 1 : 0));
}

void gradient_layer_norm(GradientContext& context) {
  const auto& attrs = context.node().attrs<LayerNormAttrs>();
  TRAINYARD_CHECK(!attrs.adds);  // gradients are added before nodes are fused
  const bool centred = attrs.centred;
  std::vector<ValueId> inputs{context.d_output(0), context.input(0), context.input(1), context.output(1)};
  if (centred) inputs.push_back(context.output(2));
  const auto made = context.graph().add_node(layer_norm_grad_op, context.name("/d_src"), std::move(inputs),
                                             context.node().attributes);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (context.needs(static_cast<int>(i))) context.set(static_cast<int>(i), made[i]);
}

std::vector<TensorType> infer_layer_norm_grad(const NodeView& node) {
  const auto& attrs = node.attrs<LayerNormAttrs>();
  const int inputs = (attrs.centred ? 5 : 4) + (attrs.adds ? 1 : 0);
  node.want_inputs(inputs, inputs);
  node.want_rank(1, 2);
  check_channels(node, 2, node.input_shape(1)[1]);
  if (attrs.adds) check_term(node, node.input(1).type);
  const TensorType vector{{node.input_shape(1)[1]}, sum_type(node.dtype())};
  std::vector<TensorType> types{node.input(1).type, vector};
  if (attrs.centred) types.push_back(vector);
  if (attrs.column_sums) types.push_back(vector);
  return types;
}

Cost cost_layer_norm_grad(const NodeView& node) {
  const auto& attrs = node.attrs<LayerNormAttrs>();
  return elementwise_cost(node,
                          (attrs.centred ? 11 : 8) + (attrs.adds ? 1 : 0) + (attrs.column_sums ? 1 : 0));
}

std::string describe_layer_norm(const NodeView& node) {
  const auto& attrs = node.attrs<LayerNormAttrs>();
  std::string text = attrs.centred ? "" : "rms";
  const auto append = [&](const char* words) { text += (text.empty() ? "" : ", ") + std::string(words); };
  if (attrs.adds) append("with the sum");
  if (attrs.column_sums) append("with a bias");
  return text;
}

// The fusion pass joins the sum with the norm, and that of the gradients with the norm's gradient.
void of_a_sum(Graph& graph, DType dtype) {
  const TensorType rows{{20, 72}, dtype}, channels{{72}, dtype};
  const ValueId src = graph.add_input("src", rows, Initializer::normal(2));
  const ValueId part = graph.add_input("part", rows, Initializer::normal(1));
  const ValueId gamma = graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2));
  const ValueId beta = graph.add_parameter("beta", channels, Initializer::normal(1));
  const ValueId sum = add(graph, "sum", {src, part});
  graph.mark_output(sum);
  graph.mark_output(layer_norm(graph, "y", sum, gamma, beta, 1e-5));
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
          {"rms_wide", problem({2, 2050}, false)},
          {"of_a_sum", of_a_sum}};
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
