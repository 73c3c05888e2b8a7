// This file maps activations, sums, products and softmax, and then dense layers and look-ups.

#include "interchange/onnx_rules.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/recurrent.h"

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

// The rules from here on map dense layers and look-ups.

namespace {

// ONNX multiplies matrices only, so an image is flattened to a matrix first, and its weight with it.
void export_dense(ExportContext& context, const graph::Node& node) {
  const Shape& weight = context.graph().shape(node.inputs[1]);
  std::string src = context.input(node, 0);
  if (weight.rank() > 2) {
    const std::string flat = node.name + "/flat";
    context.add_part(flat, "Flatten", {src}, flat, {attribute("axis", std::int64_t{1})});
    src = flat;
  }
  std::vector<std::string> inputs{src, context.state(node.inputs[1], {weight[0], weight.elements_from(1)})};
  if (node.inputs.size() == 3) inputs.push_back(context.input(node, 2));
  context.add(node, "Gemm", std::move(inputs), {attribute("transB", std::int64_t{1})});
}

struct DenseInputs {
  ValueId src;
  Shape weight;             // (outputs, inputs) of a matrix
  bool transposed = false;  // (inputs, outputs) in the file
};

// The weight gets the trailing dimensions of the source, which need not be a matrix (docs/adr/0004).
ValueId add_dense(ImportContext& context, const onnx::Node& node, const DenseInputs& inputs, ValueId bias) {
  const Shape& src = context.graph().shape(inputs.src);
  if (src.rank() < 2 || src.elements_from(1) != inputs.weight[1])
    context.decline("input is {}, weight {}", src.to_string(), inputs.weight.to_string());
  Shape weight = src;
  weight[0] = inputs.weight[0];
  context.want_elements({weight[0], inputs.weight[1]});
  context.want_elements({src[0], weight[0]});
  const Arrangement as_in_file;
  const ValueId made = context.arranged_state(
      node, 1, weight,
      inputs.transposed ? transposed_matrix(inputs.weight[1], inputs.weight[0]) : as_in_file);
  return ops::dense(context.graph(), context.name(node), inputs.src, made, bias);
}

ValueId import_gemm(ImportContext& context, const onnx::Node& node) {
  if (node.number("alpha", 1) != 1 || node.number("beta", 1) != 1 || node.integer("transA", 0) != 0)
    context.decline("alpha, beta or transA is not the usual one");
  if (!context.is_state(node, 1)) context.decline("the second matrix is no weight");
  Shape weight = context.shape(node, 1);
  if (weight.rank() != 2) context.decline("weight is {}", weight.to_string());
  const bool transposed = node.integer("transB", 0) == 0;
  if (transposed) weight = {weight[1], weight[0]};
  const ValueId src = context.tensor(node, 0);
  const ValueId bias =
      context.has(node, 2) ? context.state(node, 2, {weight[0]}) : static_cast<ValueId>(graph::kNone);
  return add_dense(context, node, {src, weight, transposed}, bias);
}

// A bias that is added next belongs to the layer.
ValueId import_matmul(ImportContext& context, const onnx::Node& node) {
  if (!context.is_state(node, 1)) context.decline("neither matrix is a weight");
  const Shape weight = context.shape(node, 1);
  if (weight.rank() != 2) context.decline("weight is {}", weight.to_string());
  const ValueId src = context.tensor(node, 0);
  if (context.graph().shape(src).rank() != 2)
    context.decline("input is {}: only matrices are ours", context.graph().shape(src).to_string());
  const onnx::Node* next = node.outputs.empty() ? nullptr : context.sole_reader(node.outputs[0]);
  const bool adds = next != nullptr && next->type == "Add" && next->inputs.size() == 2;
  const std::size_t other = adds && next->inputs[0] == node.outputs[0] ? 1 : 0;
  if (!adds || !context.is_state(*next, other) || !(context.shape(*next, other) == Shape{weight[1]}))
    return add_dense(context, node, {src, {weight[1], weight[0]}, true}, graph::kNone);
  const ValueId bias = context.state(*next, other, {weight[1]});
  const ValueId made = add_dense(context, node, {src, {weight[1], weight[0]}, true}, bias);
  context.fold(*next, made);
  return made;
}

// A matrix that is taken transposed is a node of its own.
void export_matmul(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::MatmulAttrs>();
  const auto factor = [&](std::size_t i, bool transpose, const char* what) {
    std::string src = context.input(node, i);
    if (!transpose) return src;
    const int rank = context.graph().shape(node.inputs[i]).rank();
    std::vector<std::int64_t> order;
    for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
    std::swap(order[order.size() - 2], order.back());
    std::string name = node.name + what;
    context.add_part(name, "Transpose", {std::move(src)}, name, {attribute("perm", order)});
    return name;
  };
  const std::string a = factor(0, attrs.transpose_a, "/a"), b = factor(1, attrs.transpose_b, "/b");
  context.add(node, "MatMul", {a, b});
}

void export_embedding(ExportContext& context, const graph::Node& node) {
  context.add(node, "Gather", {context.input(node, 0), context.input(node, 1)},
              {attribute("axis", std::int64_t{0})});
}

ValueId import_gather(ImportContext& context, const onnx::Node& node) {
  if (node.integer("axis", 0) != 0 || !context.is_state(node, 0))
    context.decline("only rows of a weight can be looked up");
  const Shape table = context.shape(node, 0);
  if (table.rank() != 2) context.decline("the weight is {}", table.to_string());
  const ValueId ids = context.tensor(node, 1);
  context.want_elements({context.graph().shape(ids).elements(), table[1]});
  return ops::embedding(context.graph(), context.name(node), context.state(node, 0, table), ids);
}

}  // namespace

std::vector<ImportRow> matrix_import_rows() {
  return {{"Gemm", import_gemm}, {"MatMul", import_matmul}, {"Gather", import_gather}};
}

std::vector<ExportRow> matrix_export_rows() {
  return {{&ops::dense_op, export_dense},
          {&ops::matmul_op, export_matmul},
          {&ops::embedding_op, export_embedding}};
}

}  // namespace trainyard::interchange
