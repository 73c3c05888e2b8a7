// Activations, sums, products, softmax.

#include "exchange/onnx_rules.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/multiply.h"
#include "ops/scale.h"
#include "ops/softmax.h"

namespace trainyard::exchange {
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

template <Activation kind>
ValueId import_activation(ImportContext& context, const onnx::Node& node) {
  return ops::activation(context.graph(), context.name(node), context.tensor(node, 0),
                         {.kind = kind, .slope = node.number("alpha", 0.01)});
}

// The bounds are attributes until set 10 of operators, then inputs.
ValueId import_clip(ImportContext& context, const onnx::Node& node) {
  const auto bound = [&](std::size_t input, const char* name) {
    const onnx::Tensor* tensor = context.has(node, input) ? context.constant(node.inputs[input]) : nullptr;
    return tensor != nullptr && tensor->numbers.size() == 1 ? tensor->numbers[0] : node.number(name, -1);
  };
  if (bound(1, "min") != 0 || bound(2, "max") != 6) context.decline("only the bounds 0 and 6 are ours");
  return ops::activation(context.graph(), context.name(node), context.tensor(node, 0), {Activation::relu6});
}

void export_add(ExportContext& context, const graph::Node& node) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(context.input(node, i));
  const char* type = inputs.size() == 2 ? "Add" : "Sum";
  context.add(node, type, std::move(inputs));
}

ValueId import_add(ImportContext& context, const onnx::Node& node) {
  std::vector<ValueId> terms;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) terms.push_back(context.tensor(node, i));
  return ops::add(context.graph(), context.name(node), std::move(terms));
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
      return ops::scale(context.graph(), context.name(node), context.tensor(node, 1 - i), factor->numbers[0]);
  }
  return ops::multiply(context.graph(), context.name(node), context.tensor(node, 0), context.tensor(node, 1));
}

void export_softmax(ExportContext& context, const graph::Node& node) {
  context.add(node, "Softmax", {context.input(node, 0)}, {attribute("axis", std::int64_t{1})});
}

ValueId import_softmax(ImportContext& context, const onnx::Node& node) {
  const ValueId src = context.tensor(node, 0);
  const std::int64_t axis = node.integer("axis", context.graph().shape(src).rank() == 2 ? 1 : -1);
  if (context.graph().shape(src).rank() != 2 || (axis != 1 && axis != -1))
    context.decline("only over the last axis of a matrix is it ours");
  return ops::softmax(context.graph(), context.name(node), src);
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
          {"Softmax", import_softmax}};
}

std::vector<ExportRow> elementwise_export_rows() {
  return {{&ops::activation_op, export_activation},
          {&ops::add_op, export_add},
          {&ops::multiply_op, export_multiply},
          {&ops::scale_op, export_scale},
          {&ops::softmax_op, export_softmax}};
}

}  // namespace trainyard::exchange
