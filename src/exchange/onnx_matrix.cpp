// Dense layers and look-ups.

#include "exchange/onnx_rules.h"
#include "ops/dense.h"
#include "ops/embedding.h"

namespace trainyard::exchange {
namespace {

using graph::ValueId;

// ONNX multiplies matrices alone: an image is made one first, and its weight with it.
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
  Shape weight;  // (outputs, inputs) of a matrix
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
  return ops::dense(context.graph(), context.name(node), inputs.src, context.state(node, 1, weight), bias);
}

ValueId import_gemm(ImportContext& context, const onnx::Node& node) {
  if (node.number("alpha", 1) != 1 || node.number("beta", 1) != 1 || node.integer("transA", 0) != 0)
    context.decline("alpha, beta or transA is not the usual one");
  if (!context.is_state(node, 1)) context.decline("the second matrix is no weight");
  Shape weight = context.shape(node, 1);
  if (weight.rank() != 2) context.decline("weight is {}", weight.to_string());
  if (node.integer("transB", 0) == 0) weight = {weight[1], weight[0]};
  const ValueId src = context.tensor(node, 0);
  const ValueId bias =
      context.has(node, 2) ? context.state(node, 2, {weight[0]}) : static_cast<ValueId>(graph::kNone);
  return add_dense(context, node, {src, weight}, bias);
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
    return add_dense(context, node, {src, {weight[1], weight[0]}}, graph::kNone);
  const ValueId bias = context.state(*next, other, {weight[1]});
  const ValueId made = add_dense(context, node, {src, {weight[1], weight[0]}}, bias);
  context.fold(*next, made);
  return made;
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
  return {{&ops::dense_op, export_dense}, {&ops::embedding_op, export_embedding}};
}

}  // namespace trainyard::exchange
