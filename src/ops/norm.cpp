#include "ops/norm.h"

#include "ops/shape.h"

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

std::vector<TensorType> infer_batch_norm(const NodeView& node) {
  const bool residual = node.attrs<BatchNormAttrs>().residual;
  node.want_inputs(residual ? 6 : 5, residual ? 6 : 5);
  const Shape& src = node.input_shape(0);
  if (src.rank() != 2 && src.rank() != 4)
    node.refuse("input is {}, wants 2 or 4 dimensions", src.to_string());
  const Shape channels{src[1]};
  for (int i = 1; i < 5; ++i)
    if (!(node.input_shape(i) == channels))
      node.refuse("input {} '{}' is {}, wants {}", i, node.input(i).name, node.input_shape(i).to_string(),
                  src[1]);
  if (residual && !(node.input(5).type == node.input(0).type))
    node.refuse("the residual is {}, wants {}", node.input(5).type.to_string(),
                node.input(0).type.to_string());
  const TensorType sums{channels, sum_type(node.dtype())};
  return {node.input(0).type, sums, sums};
}

Cost cost_batch_norm(const NodeView& node) {
  return elementwise_cost(node, node.attrs<BatchNormAttrs>().training ? 7 : 2);
}

std::vector<int> mutates(const NodeView& node) {
  return node.attrs<BatchNormAttrs>().training ? std::vector<int>{3, 4} : std::vector<int>{};
}

// Running statistics do not depend on the batch, so each gradient is only scaled: which is what the op does
// to numbers that nothing is taken off and nothing added to.
ValueId gradient_by_running_statistics(GradientContext& context, ValueId d_dst) {
  Graph& graph = context.graph();
  if (context.needs(1) || context.needs(2))
    fail(ErrorKind::unsupported, "batch_norm '{}': no gradient of gamma and beta in inference mode",
         context.node().name);
  const ValueId zero = fill(graph, context.name("/zero"), graph.value(context.input(3)).type, 0);
  BatchNormAttrs attrs = context.node().attrs<BatchNormAttrs>();
  attrs.activation = {Activation::none};
  return batch_norm(graph, context.name("/d_src"), {d_dst, context.input(1), zero, zero, context.input(4)},
                    attrs);
}

void gradient_batch_norm(GradientContext& context) {
  Graph& graph = context.graph();
  const auto& attrs = context.node().attrs<BatchNormAttrs>();
  TRAINYARD_CHECK(!attrs.residual);  // gradients are added before nodes are fused
  ValueId d_dst = context.d_output(0);
  if (attrs.activation.kind != Activation::none)
    d_dst = activation_grad(graph, context.name("/d_activation"), d_dst, context.output(0), attrs.activation);
  if (!attrs.training) return context.set(0, gradient_by_running_statistics(context, d_dst));
  const auto made =
      graph.add_node(batch_norm_grad_op, context.name("/d_src"),
                     {d_dst, context.input(0), context.input(1), context.output(1), context.output(2)},
                     BatchNormGradAttrs{});
  for (int i = 0; i < 3; ++i)
    if (context.needs(i)) context.set(i, made[static_cast<std::size_t>(i)]);
}

std::vector<TensorType> infer_grad_batch_norm(const NodeView& node) {
  const auto& attrs = node.attrs<BatchNormGradAttrs>();
  const int inputs = attrs.mask_by_dst || attrs.mask_by_beta ? 6 : 5;
  node.want_inputs(inputs, inputs);
  const TensorType channels{{node.input_shape(1)[1]}, sum_type(node.dtype())};
  return {node.input(1).type, channels, channels};
}

Cost cost_grad_batch_norm(const NodeView& node) { return elementwise_cost(node, 11); }

std::string describe_batch_norm(const NodeView& node) {
  const auto& attrs = node.attrs<BatchNormAttrs>();
  return std::string(attrs.training ? "training" : "inference") + (attrs.residual ? " + residual" : "") +
         fused_text(attrs.activation.kind);
}

std::string describe_grad(const NodeView& node) {
  const auto& attrs = node.attrs<BatchNormGradAttrs>();
  return attrs.mask_by_dst ? "relu mask" : attrs.mask_by_beta ? "relu mask by beta" : "";
}

std::vector<Case> cases_batch_norm() {
  struct Problem {
    const char* name;
    Shape src;
    bool training;
    Activation activation;
  };
  const Problem problems[] = {
      {"training", {4, 16, 5, 5}, true, Activation::none},
      {"training_relu", {3, 32, 4, 4}, true, Activation::relu},
      {"training_odd_channels", {4, 7, 3, 3}, true, Activation::none},
      {"training_matrix", {8, 12}, true, Activation::relu},
      {"training_many_rows", {2, 72, 32, 32}, true, Activation::relu},
      {"training_many_rows_odd_channels", {4, 5, 36, 36}, true, Activation::none},
      {"inference", {2, 16, 4, 4}, false, Activation::none},
      {"inference_relu", {2, 5, 4, 4}, false, Activation::relu},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back(
        {problem.name, [problem](Graph& graph, DType dtype) {
           const TensorType channels{{problem.src[1]}, dtype};
           const BatchNormInputs inputs{
               graph.add_input("src", {problem.src, dtype}, Initializer::normal(2)),
               graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2)),
               graph.add_parameter("beta", channels, Initializer::normal(1)),
               graph.add_state("running_mean", channels, graph::Role::statistic, Initializer::normal(1)),
               graph.add_state("running_variance", channels, graph::Role::statistic,
                               Initializer::uniform(0.5, 2))};
           graph.mark_output(batch_norm(graph, "y", inputs,
                                        {.training = problem.training, .activation = {problem.activation}}));
         }});
  // Layers that are not trained any more: gradients pass them by.
  for (const Shape& src : {Shape{3, 16, 4, 5}, Shape{6, 7}})
    all.push_back({src.rank() == 2 ? "frozen_matrix" : "frozen", [src](Graph& graph, DType dtype) {
                     const TensorType channels{{src[1]}, dtype};
                     const auto statistic = [&](const char* name, const Initializer& first) {
                       return graph.add_state(name, channels, graph::Role::statistic, first);
                     };
                     const BatchNormInputs inputs{
                         graph.add_input("src", {src, dtype}, Initializer::normal(2)),
                         statistic("gamma", Initializer::uniform(0.5, 2)),
                         statistic("beta", Initializer::normal(1)),
                         statistic("running_mean", Initializer::normal(1)),
                         statistic("running_variance", Initializer::uniform(0.5, 2))};
                     graph.mark_output(relu(graph, "y", batch_norm(graph, "n", inputs, {.training = false})));
                   }});
  // The fusion pass turns this case into a masked gradient.
  all.push_back(
      {"norm_then_relu", [](Graph& graph, DType dtype) {
         const TensorType channels{{16}, dtype};
         const BatchNormInputs inputs{
             graph.add_input("src", {{4, 16, 5, 5}, dtype}, Initializer::normal(2)),
             graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2)),
             graph.add_parameter("beta", channels, Initializer::normal(1)),
             graph.add_state("running_mean", channels, graph::Role::statistic, Initializer::normal(1)),
             graph.add_state("running_variance", channels, graph::Role::statistic,
                             Initializer::uniform(0.5, 2))};
         graph.mark_output(relu(graph, "y", batch_norm(graph, "n", inputs, {})));
       }});
  return all;
}

}  // namespace

const graph::OpDef batch_norm_op{.name = "batch_norm",
                                 .infer = infer_batch_norm,
                                 .cost = cost_batch_norm,
                                 .gradient = gradient_batch_norm,
                                 .cases = cases_batch_norm,
                                 .mutates = mutates,
                                 .describe = describe_batch_norm,
                                 .lowering = graph::Lowering::mixed,
                                 .category = graph::Category::norm,
                                 .in_place = graph::InPlace::first};
const graph::OpDef batch_norm_grad_op{.name = "batch_norm_grad",
                                      .infer = infer_grad_batch_norm,
                                      .cost = cost_grad_batch_norm,
                                      .describe = describe_grad,
                                      .lowering = graph::Lowering::mixed,
                                      .category = graph::Category::norm,
                                      .in_place = graph::InPlace::first};

ValueId batch_norm(Graph& graph, const std::string& name, const BatchNormInputs& inputs,
                   const BatchNormAttrs& attrs) {
  return graph
      .add_node(batch_norm_op, name,
                {inputs.src, inputs.gamma, inputs.beta, inputs.running_mean, inputs.running_variance}, attrs)
      .front();
}

namespace {

std::vector<TensorType> infer_local_response_norm(const NodeView& node) {
  node.want_inputs(1, 2);
  node.want_rank(0, 4);
  const auto& attrs = node.attrs<LocalResponseNormAttrs>();
  if (attrs.window < 1 || attrs.window % 2 == 0) node.refuse("window {} is not an odd number", attrs.window);
  return {node.input(0).type};
}

Cost cost_local_response_norm(const NodeView& node) {
  return elementwise_cost(node, 2 * node.attrs<LocalResponseNormAttrs>().window + 4);
}

void gradient_local_response_norm(GradientContext& context) {
  context.set(0, context.graph().add(local_response_norm_grad_op, context.name("/d_src"),
                                     {context.d_output(0), context.input(0)}, context.node().attributes));
}

std::string describe_local_response_norm(const NodeView& node) {
  const auto& attrs = node.attrs<LocalResponseNormAttrs>();
  return fmt::format("window {} alpha {:.3g} beta {}", attrs.window, attrs.alpha, attrs.beta);
}

std::vector<Case> cases_local_response_norm() {
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
                                          .infer = infer_local_response_norm,
                                          .cost = cost_local_response_norm,
                                          .gradient = gradient_local_response_norm,
                                          .cases = cases_local_response_norm,
                                          .describe = describe_local_response_norm,
                                          .category = graph::Category::norm,
                                          .in_place = graph::InPlace::any};
const graph::OpDef local_response_norm_grad_op{.name = "local_response_norm_grad",
                                               .infer = infer_local_response_norm,
                                               .cost = cost_local_response_norm,
                                               .describe = describe_local_response_norm,
                                               .category = graph::Category::norm,
                                               .in_place = graph::InPlace::any};

ValueId local_response_norm(Graph& graph, const std::string& name, ValueId src,
                            const LocalResponseNormAttrs& attrs) {
  return graph.add(local_response_norm_op, name, {src}, attrs);
}

namespace {

std::vector<TensorType> infer_l2_penalty(const NodeView& node) {
  if (node.inputs() < 1) node.refuse("got no weights");
  return {{{}, node.dtype()}};
}

Cost cost_l2_penalty(const NodeView& node) {
  std::int64_t elements = 0;
  for (int i = 0; i < node.inputs(); ++i) elements += node.input_shape(i).elements();
  return {.elementwise_flops = 2 * elements, .bytes_moved = bytes_touched(node)};
}

void gradient_l2_penalty(GradientContext& context) {
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i)
    if (context.needs(static_cast<int>(i)))
      context.set(static_cast<int>(i), context.graph().add(l2_penalty_grad_op, context.name("/d_weight"),
                                                           {context.d_output(0), context.node().inputs[i]},
                                                           context.node().attributes));
}

std::vector<TensorType> infer_grad_l2_penalty(const NodeView& node) {
  node.want_inputs(2, 2);
  return {node.input(1).type};
}

Cost cost_grad_l2_penalty(const NodeView& node) { return elementwise_cost(node, 1); }

std::string describe_l2_penalty(const NodeView& node) {
  return fmt::format("{}", node.attrs<L2PenaltyAttrs>().coefficient);
}

std::vector<Case> cases_l2_penalty() {
  return {{"two_weights", [](Graph& graph, DType dtype) {
             const ValueId a = graph.add_parameter("a", {{12, 7}, dtype}, Initializer::normal(1));
             const ValueId b = graph.add_parameter("b", {{4, 3, 3, 3}, dtype}, Initializer::normal(1));
             graph.mark_output(l2_penalty(graph, "penalty", {a, b}, 0.004));
           }}};
}

}  // namespace

const graph::OpDef l2_penalty_op{.name = "l2_penalty",
                                 .infer = infer_l2_penalty,
                                 .cost = cost_l2_penalty,
                                 .gradient = gradient_l2_penalty,
                                 .cases = cases_l2_penalty,
                                 .describe = describe_l2_penalty,
                                 .lowering = graph::Lowering::exact,
                                 .category = graph::Category::loss,
                                 .any_layout = true};
const graph::OpDef l2_penalty_grad_op{.name = "l2_penalty_grad",
                                      .infer = infer_grad_l2_penalty,
                                      .cost = cost_grad_l2_penalty,
                                      .describe = describe_l2_penalty,
                                      .lowering = graph::Lowering::exact,
                                      .category = graph::Category::loss,
                                      .in_place = graph::InPlace::second,
                                      .any_layout = true};

ValueId l2_penalty(Graph& graph, const std::string& name, std::vector<ValueId> weights, double coefficient) {
  return graph.add(l2_penalty_op, name, std::move(weights), L2PenaltyAttrs{coefficient});
}

std::vector<const graph::OpDef*> norm_ops() {
  return {&batch_norm_op, &batch_norm_grad_op, &local_response_norm_op, &local_response_norm_grad_op,
          &l2_penalty_op, &l2_penalty_grad_op};
}

}  // namespace trainyard::ops
