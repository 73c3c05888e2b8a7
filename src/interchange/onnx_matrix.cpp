// This file maps dense layers, products of matrices and look-ups.

#include "interchange/onnx_rules.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"

namespace trainyard::interchange {

namespace {

using graph::ValueId;

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

// alpha A B + beta C, where it is no dense layer.
ValueId general_gemm(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const ValueId a = context.tensor(node, 0), b = context.tensor(node, 1);
  if (graph.shape(a).rank() != 2 || graph.shape(b).rank() != 2)
    context.decline("its factors are {} and {}", graph.shape(a).to_string(), graph.shape(b).to_string());
  const auto scaled = [&](const char* what, ValueId value, double factor) {
    return factor == 1 ? value : ops::scale(graph, name + what, value, factor);
  };
  const ValueId product =
      scaled("/alpha",
             ops::matmul(graph, name, a, b, {node.integer("transA", 0) != 0, node.integer("transB", 0) != 0}),
             node.number("alpha", 1));
  if (!context.has(node, 2)) return product;
  const Shape shape = graph.shape(product);
  const ValueId added = scaled("/beta", context.tensor(node, 2), node.number("beta", 1));
  return ops::add(graph, name + "/sum", {product, repeated(context, name, added, shape)});
}

ValueId import_gemm(ImportContext& context, const onnx::Node& node) {
  const bool usual = node.number("alpha", 1) == 1 && node.number("beta", 1) == 1 &&
                     node.integer("transA", 0) == 0 && context.is_state(node, 1);
  const bool is_bias =
      !context.has(node, 2) || (context.is_state(node, 2) && context.shape(node, 2).rank() == 1);
  if (!usual || !is_bias) return general_gemm(context, node);
  Shape weight = context.shape(node, 1);
  if (weight.rank() != 2) context.decline("weight is {}", weight.to_string());
  const bool transposed = node.integer("transB", 0) == 0;
  if (transposed) weight = {weight[1], weight[0]};
  const bool in_rows = context.has_rows(node, 0);
  Rows rows = in_rows ? context.rows(node, 0) : Rows{.value = context.tensor(node, 0)};
  const ValueId bias =
      context.has(node, 2) ? context.state(node, 2, {weight[0]}) : static_cast<ValueId>(graph::kNone);
  rows.value = add_dense(context, node, {rows.value, weight, transposed}, bias);
  return in_rows ? context.keep_rows(node, rows, context.graph().shape(rows.value)) : rows.value;
}

// Returns the node behind this one that adds a bias to what it makes, and which input that is.
std::optional<std::pair<const onnx::Node*, std::size_t>> bias_behind(ImportContext& context,
                                                                     const onnx::Node& node,
                                                                     std::int64_t outputs) {
  const onnx::Node* next = node.outputs.empty() ? nullptr : context.sole_reader(node.outputs[0]);
  if (next == nullptr || next->type != "Add" || next->inputs.size() != 2) return std::nullopt;
  const std::size_t other = next->inputs[0] == node.outputs[0] ? 1 : 0;
  if (!context.is_state(*next, other) || !(context.shape(*next, other) == Shape{outputs}))
    return std::nullopt;
  return std::pair(next, other);
}

// A dense layer on rows. A bias that is added next belongs to it.
ValueId import_layer(ImportContext& context, const onnx::Node& node, bool transposed) {
  Shape weight = context.shape(node, 1), shape = context.shape(node, 0);
  if (weight.rank() != 2) context.decline("weight is {}", weight.to_string());
  if (transposed) weight = {weight[1], weight[0]};
  Rows rows = context.rows(node, 0);
  shape[shape.rank() - 1] = weight[0];
  const auto next = bias_behind(context, node, weight[0]);
  const ValueId bias = next ? context.state(*next->first, next->second, {weight[0]}) : graph::kNone;
  rows.value = add_dense(context, node, {rows.value, weight, transposed}, bias);
  if (next) {
    context.keep_rows(*next->first, rows, shape);
    context.fold(*next->first, rows.value);
  }
  return context.keep_rows(node, rows, shape);
}

ValueId import_matmul(ImportContext& context, const onnx::Node& node) {
  if (context.is_state(node, 1) && context.shape(node, 1).rank() == 2 && context.shape(node, 0).rank() > 1)
    return import_layer(context, node, true);
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const ValueId a = context.tensor(node, 0), b = context.tensor(node, 1);
  const Shape left = graph.shape(a), right = graph.shape(b);
  if (left.rank() < 2 || right.rank() < 2) context.decline("a factor is a vector");
  // The axes before the matrices are broadcast to each other.
  Shape of_a = left.rank() >= right.rank() ? left : right, of_b = of_a;
  const int lead = of_a.rank() - 2;
  for (int axis = 0; axis < lead; ++axis)
    for (const Shape* one : {&left, &right})
      if (const int at = axis - (lead + 2 - one->rank()); at >= 0 && (*one)[at] != 1)
        of_a[axis] = of_b[axis] = (*one)[at];
  for (const int axis : {0, 1}) {
    of_a[lead + axis] = left[left.rank() - 2 + axis];
    of_b[lead + axis] = right[right.rank() - 2 + axis];
  }
  context.want_elements(of_a);
  context.want_elements(of_b);
  return ops::matmul(graph, name, repeated(context, name + "/a", a, of_a),
                     repeated(context, name + "/b", b, of_b));
}

// The layer x W^T of a pattern.
ValueId import_linear(ImportContext& context, const onnx::Node& node) {
  return import_layer(context, node, false);
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

// Ids that are the same for all samples are a fill of ours, where they are all equal.
Rows constant_ids(ImportContext& context, const onnx::Node& node) {
  const onnx::Tensor& ids = *context.constant(node.inputs[1]);
  const std::vector<std::int64_t> numbers = context.integers(node, 1);
  if (ids.dims.empty() || numbers.empty() ||
      std::any_of(numbers.begin(), numbers.end(), [&](std::int64_t id) { return id != numbers[0]; }))
    context.decline("its ids are constants, and not all the same");
  Shape shape;
  for (const std::int64_t dim : ids.dims) shape.append(dim);
  const onnx::Node* maker = context.known().maker(node.inputs[1]);
  const std::string name = maker != nullptr ? context.name(*maker) : context.name(node) + "/ids";
  return {.value = ops::fill(context.graph(), name, {shape, DType::i32}, static_cast<double>(numbers[0])),
          .outer = shape[0],
          .inner = shape.elements() / shape[0]};
}

ValueId import_gather(ImportContext& context, const onnx::Node& node) {
  if (!context.is_state(node, 0) && context.has(node, 1) && context.constant(node.inputs[1]) != nullptr)
    return import_places(context, node);
  if (node.integer("axis", 0) != 0 || !context.is_state(node, 0))
    context.decline("only rows of a weight can be looked up");
  const Shape table = context.shape(node, 0);
  if (table.rank() != 2) context.decline("the weight is {}", table.to_string());
  const bool constant = context.has(node, 1) && context.constant(node.inputs[1]) != nullptr;
  const bool in_rows = context.has_rows(node, 1);
  Rows ids = constant  ? constant_ids(context, node)
             : in_rows ? context.rows_as_kept(node, 1)
                       : Rows{.value = context.tensor(node, 1)};
  context.want_elements({context.graph().shape(ids.value).elements(), table[1]});
  const ValueId made =
      ops::embedding(context.graph(), context.name(node), context.state(node, 0, table), ids.value);
  if (constant) context.note_equal_rows(node);
  if (!in_rows) return made;
  Shape shape = context.shape(node, 1);
  shape.append(table[1]);
  ids.value = ops::reshape(context.graph(), context.name(node) + "/rows", made,
                           {shape.elements() / table[1], table[1]});
  return context.keep_rows(node, ids, shape);
}

}  // namespace

std::vector<ImportRow> matrix_import_rows() {
  return {
      {"Gemm", import_gemm}, {"MatMul", import_matmul}, {"Linear", import_linear}, {"Gather", import_gather}};
}

std::vector<ExportRow> matrix_export_rows() {
  return {{&ops::dense_op, export_dense},
          {&ops::matmul_op, export_matmul},
          {&ops::embedding_op, export_embedding}};
}

}  // namespace trainyard::interchange
