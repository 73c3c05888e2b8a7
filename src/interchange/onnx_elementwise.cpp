// This file maps activations, sums, products and softmax.

#include "interchange/onnx_rules.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/sequence/position.h"

namespace trainyard::interchange {

namespace {

using graph::ValueId;
using ops::Activation;

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

// Makes an op element by element of one input, on rows where the input lies as rows.
template <typename Make>
ValueId of_each(ImportContext& context, const onnx::Node& node, std::size_t input, const Make& make) {
  if (!context.has_rows(node, input)) return make(context.tensor(node, input));
  Rows rows = context.rows(node, input);
  rows.value = make(rows.value);
  return context.keep_rows(node, rows, context.shape(node, input));
}

// Does the same for several inputs of one shape.
template <typename Make>
ValueId of_all(ImportContext& context, const onnx::Node& node, const Make& make) {
  bool any_rows = false;
  std::optional<Rows> like;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) any_rows = any_rows || context.has_rows(node, i);
  bool alike = any_rows;
  for (std::size_t i = 0; i < node.inputs.size() && alike; ++i) {
    const Rows rows = context.rows(node, i);
    alike = context.shape(node, i) == context.shape(node, 0) && (!like || rows.same_order(*like));
    if (!like || like->all_equal) like = rows;
  }
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    values.push_back(alike ? context.rows(node, i).value : context.tensor(node, i));
  const ValueId made = make(std::move(values));
  if (!alike) return made;
  like->value = made;
  return context.keep_rows(node, *like, context.shape(node, 0));
}

template <Activation kind>
ValueId import_activation(ImportContext& context, const onnx::Node& node) {
  return of_each(context, node, 0, [&](ValueId src) {
    return ops::activation(context.graph(), context.name(node), src,
                           {.kind = kind, .slope = node.number("alpha", 0.01)});
  });
}

// The bounds are attributes until set 10 of operators, then inputs.
ValueId import_clip(ImportContext& context, const onnx::Node& node) {
  const auto bound = [&](std::size_t input, const char* name) {
    const onnx::Tensor* tensor = context.has(node, input) ? context.constant(node.inputs[input]) : nullptr;
    return tensor != nullptr && tensor->numbers.size() == 1 ? tensor->numbers[0] : node.number(name, -1);
  };
  if (bound(1, "min") != 0 || bound(2, "max") != 6) context.decline("only the bounds 0 and 6 are ours");
  return of_each(context, node, 0, [&](ValueId src) {
    return ops::activation(context.graph(), context.name(node), src, {Activation::relu6});
  });
}

void export_add(ExportContext& context, const graph::Node& node) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(context.input(node, i));
  const char* type = inputs.size() == 2 ? "Add" : "Sum";
  context.add(node, type, std::move(inputs));
}

// A vector that is added to every row is a table of one position.
ValueId add_vector(ImportContext& context, const onnx::Node& node, std::size_t input) {
  Rows rows = context.rows(node, input);
  const Shape vector = context.shape(node, 1 - input);
  const ValueId table = context.state(node, 1 - input, {1, vector[0]});
  rows.value = ops::add_positions(context.graph(), context.name(node), rows.value, table, {1, true});
  return context.keep_rows(node, rows, context.shape(node, input));
}

ValueId import_add(ImportContext& context, const onnx::Node& node) {
  if (node.inputs.size() == 2)
    for (const std::size_t i : {0, 1})
      if (context.is_state(node, 1 - i) && !context.is_state(node, i) &&
          context.shape(node, 1 - i).rank() == 1)
        return add_vector(context, node, i);
  return of_all(context, node, [&](std::vector<ValueId> terms) {
    return ops::add(context.graph(), context.name(node), std::move(terms));
  });
}

void export_multiply(ExportContext& context, const graph::Node& node) {
  context.add(node, "Mul", {context.input(node, 0), context.input(node, 1)});
}

void export_scale(ExportContext& context, const graph::Node& node) {
  context.add(
      node, "Mul",
      {context.input(node, 0), context.constant(node, "factor", node.attrs<ops::ScaleAttrs>().factor)});
}

ValueId import_mul(ImportContext& context, const onnx::Node& node) {
  if (node.inputs.size() != 2) context.decline("it has {} inputs", node.inputs.size());
  for (const std::size_t i : {0, 1}) {
    const onnx::Tensor* factor = context.constant(node.inputs[i]);
    if (factor != nullptr && factor->numbers.size() == 1)
      return of_each(context, node, 1 - i, [&](ValueId src) {
        return ops::scale(context.graph(), context.name(node), src, factor->numbers[0]);
      });
  }
  return of_all(context, node, [&](const std::vector<ValueId>& factors) {
    return ops::multiply(context.graph(), context.name(node), factors[0], factors[1]);
  });
}

ValueId import_div(ImportContext& context, const onnx::Node& node) {
  const onnx::Tensor* divisor = context.has(node, 1) ? context.constant(node.inputs[1]) : nullptr;
  if (divisor == nullptr || divisor->numbers.size() != 1 || divisor->numbers[0] == 0)
    context.decline("only a division by one number is ours");
  return of_each(context, node, 0, [&](ValueId src) {
    return ops::scale(context.graph(), context.name(node), src, 1 / divisor->numbers[0]);
  });
}

void export_softmax(ExportContext& context, const graph::Node& node) {
  context.add(node, "Softmax", {context.input(node, 0)}, {attribute("axis", std::int64_t{1})});
}

ValueId import_softmax(ImportContext& context, const onnx::Node& node) {
  const Shape shape = context.shape(node, 0);
  const std::int64_t axis = node.integer("axis", -1);
  if (shape.rank() < 2 || (axis != shape.rank() - 1 && axis != -1))
    context.decline("only over the last axis is it ours");
  Rows rows = context.rows(node, 0);
  rows.value = ops::softmax(context.graph(), context.name(node), rows.value);
  return context.keep_rows(node, rows, shape);
}

}  // namespace

std::vector<ImportRow> elementwise_import_rows() {
  return {{"Relu", import_activation<Activation::relu>},
          {"LeakyRelu", import_activation<Activation::leaky_relu>},
          {"Sigmoid", import_activation<Activation::sigmoid>},
          {"Tanh", import_activation<Activation::tanh>},
          {"Clip", import_clip},
          {"Add", import_add},
          {"Sum", import_add},
          {"Mul", import_mul},
          {"Div", import_div},
          {"Softmax", import_softmax}};
}

std::vector<ExportRow> elementwise_export_rows() {
  return {{&ops::activation_op, export_activation},
          {&ops::add_op, export_add},
          {&ops::multiply_op, export_multiply},
          {&ops::scale_op, export_scale},
          {&ops::softmax_op, export_softmax}};
}

}  // namespace trainyard::interchange
