#include "ops/elementwise.h"

#include "base/philox.h"

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

std::vector<TensorType> infer_activation(const NodeView& node) {
  node.want_inputs(1, 1);
  return {node.input(0).type};
}

Cost cost_activation(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient_activation(GradientContext& context) {
  context.set(0, activation_grad(context.graph(), context.name("/d_src"), context.d_output(0),
                                 context.output(0), context.node().attrs<ActivationAttrs>()));
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  node.want_inputs(2, 2);
  if (!(node.input(0).type == node.input(1).type))
    node.refuse("gradient is {}, output is {}", node.input(0).type.to_string(),
                node.input(1).type.to_string());
  return {node.input(0).type};
}

std::string describe_activation(const NodeView& node) { return name(node.attrs<ActivationAttrs>().kind); }

std::vector<Case> cases_activation() {
  std::vector<Case> all;
  for (const Activation kind :
       {Activation::relu, Activation::relu6, Activation::leaky_relu, Activation::sigmoid, Activation::tanh}) {
    for (const Shape& shape : {Shape{4, 37}, Shape{2, 16, 5, 3}}) {
      all.push_back(
          {std::string(name(kind)) + "_" + shape.to_string(), [kind, shape](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {shape, dtype}, Initializer::uniform(-4, 8));
             graph.mark_output(activation(graph, "y", x, {kind}));
           }});
    }
  }
  return all;
}

}  // namespace

const char* name(Activation kind) {
  switch (kind) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::relu6:
      return "relu6";
    case Activation::leaky_relu:
      return "leaky_relu";
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::tanh:
      return "tanh";
  }
  return "?";
}

const graph::OpDef activation_op{.name = "activation",
                                 .infer = infer_activation,
                                 .cost = cost_activation,
                                 .gradient = gradient_activation,
                                 .cases = cases_activation,
                                 .describe = describe_activation,
                                 .in_place = graph::InPlace::first};
const graph::OpDef activation_grad_op{.name = "activation_grad",
                                      .infer = infer_grad,
                                      .cost = cost_activation,
                                      .describe = describe_activation,
                                      .in_place = graph::InPlace::first};

ValueId activation(Graph& graph, const std::string& name, ValueId src, ActivationAttrs attrs) {
  return graph.add(activation_op, name, {src}, attrs);
}

ValueId activation_grad(Graph& graph, const std::string& name, ValueId d_dst, ValueId dst,
                        ActivationAttrs attrs) {
  return graph.add(activation_grad_op, name, {d_dst, dst}, attrs);
}

std::string fused_text(Activation kind) {
  return kind == Activation::none ? "" : std::string(" + ") + name(kind);
}

namespace {

std::vector<TensorType> infer_add(const NodeView& node) {
  const int masks = node.attrs<AddAttrs>().mask_by_last ? 1 : 0;
  if (node.inputs() < 1 + masks) node.refuse("got {} inputs, wants at least {}", node.inputs(), 1 + masks);
  for (int i = 1; i < node.inputs(); ++i)
    if (!(node.input(i).type == node.input(0).type))
      node.refuse("input {} '{}' is {}, input 0 is {}", i, node.input(i).name, node.input(i).type.to_string(),
                  node.input(0).type.to_string());
  return {node.input(0).type};
}

Cost cost_add(const NodeView& node) { return elementwise_cost(node, node.inputs() - 1); }

void gradient_add(GradientContext& context) {
  const auto& attrs = context.node().attrs<AddAttrs>();
  TRAINYARD_CHECK(!attrs.mask_by_last);
  ValueId d_dst = context.d_output(0);
  if (attrs.activation.kind != Activation::none)
    d_dst = activation_grad(context.graph(), context.name("/d_activation"), d_dst, context.output(0),
                            attrs.activation);
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i) context.set(static_cast<int>(i), d_dst);
}

std::string describe_add(const NodeView& node) {
  const auto& attrs = node.attrs<AddAttrs>();
  return (attrs.mask_by_last ? "relu mask" : "") + fused_text(attrs.activation.kind);
}

std::vector<Case> cases_add() {
  const auto problem = [](int terms, Shape shape, Activation activation) {
    return [=](Graph& graph, DType dtype) {
      std::vector<ValueId> inputs;
      for (int i = 0; i < terms; ++i)
        inputs.push_back(graph.add_input(fmt::format("x{}", i), {shape, dtype}, Initializer::normal(1)));
      graph.mark_output(graph.add(add_op, "y", inputs, AddAttrs{{activation}}));
    };
  };
  return {{"two", problem(2, {2, 16, 3, 3}, Activation::none)},
          {"two_relu", problem(2, {2, 16, 3, 3}, Activation::relu)},
          {"three_odd", problem(3, {2, 5, 3, 3}, Activation::none)},
          {"two_scalars", problem(2, {}, Activation::none)},
          // The same value twice: its gradient is summed, and the mask of the ReLU joins that sum.
          {"relu_used_twice", [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 16, 4, 4}, dtype}, Initializer::normal(1));
             const ValueId r = relu(graph, "r", x);
             const ValueId t = activation(graph, "t", r, {Activation::tanh});
             graph.mark_output(add(graph, "y", {r, t}));
           }}};
}

}  // namespace

const graph::OpDef add_op{.name = "add",
                          .infer = infer_add,
                          .cost = cost_add,
                          .gradient = gradient_add,
                          .cases = cases_add,
                          .describe = describe_add,
                          .in_place = graph::InPlace::any};

ValueId add(Graph& graph, const std::string& name, std::vector<ValueId> terms) {
  return graph.add(add_op, name, std::move(terms), AddAttrs{});
}

namespace {

std::vector<TensorType> infer_multiply(const NodeView& node) {
  node.want_inputs(2, 2);
  if (!(node.input(0).type == node.input(1).type))
    node.refuse("inputs are {} and {}, want equal shapes", node.input(0).type.to_string(),
                node.input(1).type.to_string());
  return {node.input(0).type};
}

Cost cost_multiply(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient_multiply(GradientContext& context) {
  for (int i = 0; i < 2; ++i)
    if (context.needs(i))
      context.set(i, multiply(context.graph(), context.name(i == 0 ? "/d_a" : "/d_b"), context.d_output(0),
                              context.input(1 - i)));
}

std::vector<Case> cases_multiply() {
  const auto problem = [](Shape shape) {
    return [=](Graph& graph, DType dtype) {
      const ValueId a = graph.add_input("a", {shape, dtype}, Initializer::normal(1));
      const ValueId b = graph.add_input("b", {shape, dtype}, Initializer::normal(1));
      graph.mark_output(multiply(graph, "y", a, b));
    };
  };
  return {{"matrix", problem({3, 21})}, {"image", problem({2, 16, 3, 3})}};
}

}  // namespace

const graph::OpDef multiply_op{.name = "multiply",
                               .infer = infer_multiply,
                               .cost = cost_multiply,
                               .gradient = gradient_multiply,
                               .cases = cases_multiply,
                               .in_place = graph::InPlace::any};

ValueId multiply(Graph& graph, const std::string& name, ValueId a, ValueId b) {
  return graph.add(multiply_op, name, {a, b});
}

namespace {

std::vector<TensorType> infer_scale(const NodeView& node) {
  node.want_inputs(1, 1);
  return {node.input(0).type};
}

Cost cost_scale(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient_scale(GradientContext& context) {
  context.set(0, scale(context.graph(), context.name("/d_src"), context.d_output(0),
                       context.node().attrs<ScaleAttrs>().factor));
}

std::string describe_scale(const NodeView& node) {
  return fmt::format("{}", node.attrs<ScaleAttrs>().factor);
}

std::vector<Case> cases_scale() {
  return {{"image", [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 16, 3, 3}, dtype}, Initializer::normal(1));
             graph.mark_output(scale(graph, "y", x, 0.17));
           }}};
}

}  // namespace

const graph::OpDef scale_op{.name = "scale",
                            .infer = infer_scale,
                            .cost = cost_scale,
                            .gradient = gradient_scale,
                            .cases = cases_scale,
                            .describe = describe_scale,
                            .in_place = graph::InPlace::first};

ValueId scale(Graph& graph, const std::string& name, ValueId src, double factor) {
  return graph.add(scale_op, name, {src}, ScaleAttrs{factor});
}

namespace {

std::vector<TensorType> infer_dropout(const NodeView& node) {
  node.want_inputs(1, 1);
  const double rate = node.attrs<DropoutAttrs>().rate;
  if (!(rate >= 0 && rate < 1)) node.refuse("rate {} is not in [0, 1)", rate);
  return {node.input(0).type};
}

Cost cost_dropout(const NodeView& node) { return elementwise_cost(node, 1); }

void gradient_dropout(GradientContext& context) {
  context.set(0, context.graph().add(dropout_op, context.name("/d_src"), {context.d_output(0)},
                                     context.node().attributes));
}

std::string describe_dropout(const NodeView& node) {
  return fmt::format("rate {}", node.attrs<DropoutAttrs>().rate);
}

std::vector<Case> cases_dropout() {
  const auto problem = [](Shape shape, double rate) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {shape, dtype}, Initializer::normal(1));
      graph.mark_output(dropout(graph, "y", x, rate));
    };
  };
  return {{"half", problem({8, 67}, 0.5)}, {"fifth_of_image", problem({2, 5, 3, 3}, 0.2)}};
}

}  // namespace

const graph::OpDef dropout_op{.name = "dropout",
                              .infer = infer_dropout,
                              .cost = cost_dropout,
                              .gradient = gradient_dropout,
                              .cases = cases_dropout,
                              .describe = describe_dropout,
                              .in_place = graph::InPlace::first};

ValueId dropout(Graph& graph, const std::string& name, ValueId src, double rate) {
  return graph.add(dropout_op, name, {src}, DropoutAttrs{rate, stream_of(name.c_str())});
}

std::vector<const graph::OpDef*> elementwise_ops() {
  return {&activation_op, &activation_grad_op, &add_op, &multiply_op, &scale_op, &dropout_op};
}

}  // namespace trainyard::ops
