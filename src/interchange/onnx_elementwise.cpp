// This file maps functions of each number, and softmax.

#include "interchange/onnx_rules.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/shape.h"

namespace trainyard::interchange {

namespace {

using graph::ValueId;
using ops::Activation;
using ops::PointwiseKind;

void export_activation(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::ActivationAttrs>();
  std::vector<std::string> inputs;
  inputs.reserve(3);
  inputs.push_back(context.input(node, 0));
  switch (attrs.kind) {
    case Activation::none:
      return context.add(node, "Identity", std::move(inputs));
    case Activation::relu:
      return context.add(node, "Relu", std::move(inputs));
    case Activation::relu6:
      inputs.push_back(context.constant(node, "least", 0.0));
      inputs.push_back(context.constant(node, "most", 6.0));
      return context.add(node, "Clip", std::move(inputs));
    case Activation::leaky_relu:
      return context.add(node, "LeakyRelu", std::move(inputs), {attribute("alpha", attrs.slope)});
    case Activation::sigmoid:
      return context.add(node, "Sigmoid", std::move(inputs));
    case Activation::tanh:
      return context.add(node, "Tanh", std::move(inputs));
  }
}

template <Activation kind>
ValueId import_activation(ImportContext& context, const onnx::Node& node) {
  return of_each(context, node, 0, [&](ValueId src) {
    return ops::activation(context.graph(), context.name(node), src,
                           {.kind = kind, .slope = node.number("alpha", 0.01)});
  });
}

ValueId add_pointwise(ImportContext& context, const onnx::Node& node, const ops::PointwiseAttrs& attrs) {
  return of_each(context, node, 0, [&](ValueId src) {
    return ops::pointwise(context.graph(), context.name(node), src, attrs);
  });
}

// The bounds are attributes until set 10 of operators, then inputs.
ValueId import_clip(ImportContext& context, const onnx::Node& node) {
  const auto bound = [&](std::size_t input, const char* name, double otherwise) {
    if (!context.has(node, input)) return node.number(name, otherwise);
    const onnx::Tensor* tensor = context.constant(node.inputs[input]);
    if (tensor == nullptr || tensor->numbers.size() != 1) context.decline("its bounds are no constants");
    return tensor->numbers[0];
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double least = bound(1, "min", -kInfinite), most = bound(2, "max", kInfinite);
  if (least != 0 || most != 6) return add_pointwise(context, node, {PointwiseKind::clip, least, most});
  return of_each(context, node, 0, [&](ValueId src) {
    return ops::activation(context.graph(), context.name(node), src, {Activation::relu6});
  });
}

// A function of each number, whose a and b are attributes of the node.
struct PointwiseRow {
  const char* type;
  PointwiseKind kind;
  const char *a = "", *b = "";
  double a_default = 1, b_default = 0;
};

constexpr PointwiseRow kPointwiseRows[] = {
    {"Elu", PointwiseKind::elu, "alpha", "", 1, 1},
    {"Selu", PointwiseKind::elu, "alpha", "gamma", 1.67326319217681884765625, 1.05070102214813232421875},
    {"Celu", PointwiseKind::celu, "alpha"},
    {"HardSigmoid", PointwiseKind::hard_sigmoid, "alpha", "beta", 0.2, 0.5},
    {"HardSwish", PointwiseKind::hard_swish},
    {"Softplus", PointwiseKind::softplus},
    {"Softsign", PointwiseKind::softsign},
    {"Mish", PointwiseKind::mish},
    {"ThresholdedRelu", PointwiseKind::threshold, "alpha"},
    {"Exp", PointwiseKind::exp},
    {"Log", PointwiseKind::log},
    {"Sqrt", PointwiseKind::sqrt},
    {"Reciprocal", PointwiseKind::reciprocal},
    {"Abs", PointwiseKind::absolute},
    {"Erf", PointwiseKind::erf},
    {"Sin", PointwiseKind::sin},
    {"Cos", PointwiseKind::cos}};

ValueId import_pointwise(ImportContext& context, const onnx::Node& node) {
  for (const PointwiseRow& row : kPointwiseRows)
    if (node.type == row.type)
      return add_pointwise(context, node,
                           {row.kind, node.number(row.a, row.a_default), node.number(row.b, row.b_default)});
  context.decline("there is no such op here");
}

// A kind without an operator in the sets that are written becomes two operators.
void export_pointwise(ExportContext& context, const graph::Node& node) {
  const auto& [kind, a, b] = node.attrs<ops::PointwiseAttrs>();
  const std::string src = context.input(node, 0);
  const auto part = [&](const char* what, const char* type, std::vector<std::string> inputs) {
    std::string name = node.name + "/" + what;
    context.add_part(name, type, std::move(inputs), name);
    return name;
  };
  switch (kind) {
    case PointwiseKind::linear:
      return context.add(node, "Add",
                         {part("factor_times", "Mul", {src, context.constant(node, "factor", a)}),
                          context.constant(node, "offset", b)});
    case PointwiseKind::clip:
      return context.add(node, "Clip",
                         {src, context.constant(node, "least", a), context.constant(node, "most", b)});
    case PointwiseKind::power:
      return context.add(node, "Pow", {src, context.constant(node, "exponent", a)});
    case PointwiseKind::mish:
      return context.add(node, "Mul", {src, part("tanh", "Tanh", {part("softplus", "Softplus", {src})})});
    case PointwiseKind::hard_swish: {
      const std::string share = node.name + "/share";
      context.add_part(share, "HardSigmoid", {src}, share,
                       {attribute("alpha", 1.0 / 6), attribute("beta", 0.5)});
      return context.add(node, "Mul", {src, share});
    }
    case PointwiseKind::elu:
      return context.add(node, "Selu", {src}, {attribute("alpha", a), attribute("gamma", b)});
    default:
      break;
  }
  for (const PointwiseRow& row : kPointwiseRows) {
    if (row.kind != kind) continue;
    std::vector<onnx::Attribute> attributes;
    if (row.a[0] != 0) attributes.push_back(attribute(row.a, a));
    if (row.b[0] != 0) attributes.push_back(attribute(row.b, b));
    return context.add(node, row.type, {src}, std::move(attributes));
  }
}

void export_softmax(ExportContext& context, const graph::Node& node) {
  context.add(node, "Softmax", {context.input(node, 0)}, {attribute("axis", std::int64_t{1})});
}

// Over another axis than the last the others are moved before it, and back.
ValueId softmax_over(ImportContext& context, const onnx::Node& node, int axis) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const ValueId src = context.tensor(node, 0);
  const Shape shape = graph.shape(src);
  std::vector<int> order(static_cast<std::size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  const ValueId moved = ops::permute(graph, name + "/axis_last", src, order);
  const Shape whole = graph.shape(moved);
  const std::int64_t width = shape[axis];
  const ValueId rows = ops::reshape(graph, name + "/rows", moved, {whole.elements() / width, width});
  const ValueId made = ops::reshape(graph, name + "/whole", ops::softmax(graph, name, rows), whole);
  return ops::permute(graph, name + "/axis_back", made, std::move(order));
}

// Until set 12 of operators all axes from this one on are one; where none of the later ones is longer than
// 1, that is the same.
ValueId import_softmax(ImportContext& context, const onnx::Node& node) {
  const Shape shape = context.shape(node, 0);
  if (shape.rank() < 2) context.decline("its input is {}", shape.to_string());
  const bool joins = context.opset() < 13;
  const int axis = checked_axis(node.integer("axis", joins ? 1 : -1), shape.rank());
  if (joins && axis + 1 < shape.rank() && shape.elements_from(axis + 1) != 1)
    context.decline("over several axes at once it is not ours");
  if (axis != shape.rank() - 1) return softmax_over(context, node, axis);
  Rows rows = context.rows(node, 0);
  rows.value = ops::softmax(context.graph(), context.name(node), rows.value);
  return context.keep_rows(node, rows, shape);
}

// The logarithm of a share that is too small for f32 stays a number.
ValueId import_log_softmax(ImportContext& context, const onnx::Node& node) {
  const std::string name = context.name(node);
  constexpr double kLeast = std::numeric_limits<float>::min();
  const auto log_of = [&](ValueId shares) {
    const ValueId some =
        ops::pointwise(context.graph(), name + "/shares", shares, {PointwiseKind::clip, kLeast, 1});
    return ops::pointwise(context.graph(), name + "/log", some, {PointwiseKind::log});
  };
  const ValueId shares = import_softmax(context, node);
  if (!context.made_rows(node)) return log_of(shares);
  Rows rows = context.made_as_rows(node);
  rows.value = log_of(rows.value);
  return context.keep_rows(node, rows, context.shape(node, 0));
}

}  // namespace

std::vector<ImportRow> elementwise_import_rows() {
  std::vector<ImportRow> rows{{"Relu", import_activation<Activation::relu>},
                              {"LeakyRelu", import_activation<Activation::leaky_relu>},
                              {"Sigmoid", import_activation<Activation::sigmoid>},
                              {"Tanh", import_activation<Activation::tanh>},
                              {"Clip", import_clip},
                              {"Softmax", import_softmax},
                              {"LogSoftmax", import_log_softmax}};
  for (const PointwiseRow& row : kPointwiseRows) rows.push_back({row.type, import_pointwise});
  return rows;
}

std::vector<ExportRow> elementwise_export_rows() {
  return {{&ops::activation_op, export_activation},
          {&ops::pointwise_op, export_pointwise},
          {&ops::softmax_op, export_softmax}};
}

}  // namespace trainyard::interchange
