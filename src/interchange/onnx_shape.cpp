// This file maps ops that move numbers and compute none, and dropout, which computes nothing in ONNX's form
// of inference.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;

std::vector<std::int64_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

void export_concat(ExportContext& context, const graph::Node& node) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(context.input(node, i));
  context.add(node, "Concat", std::move(inputs),
              {attribute("axis", std::int64_t{node.attrs<ops::ConcatAttrs>().axis})});
}

ValueId import_concat(ImportContext& context, const onnx::Node& node) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) parts.push_back(context.tensor(node, i));
  if (parts.empty()) context.decline("it joins nothing");
  const int axis = checked_axis(node.integer("axis", 1), context.graph().shape(parts[0]).rank());
  return ops::concat(context.graph(), context.name(node), std::move(parts), axis);
}

void export_reshape(ExportContext& context, const graph::Node& node) {
  const Shape& shape = node.attrs<ops::ReshapeAttrs>().shape;
  // The first dimension follows from the others, so that a reader may choose another batch.
  std::vector<std::int64_t> dims = dims_of(shape);
  if (!dims.empty()) dims[0] = -1;
  context.add(node, "Reshape", {context.input(node, 0), context.constant(node, "shape", dims)});
}

// An image that is flattened for a dense layer alone goes there as it is.
bool only_for_dense(ImportContext& context, const onnx::Node& node, const Shape& from, const Shape& to) {
  const onnx::Node* next = context.sole_reader(node.outputs[0]);
  return next != nullptr && (next->type == "Gemm") && next->inputs.size() >= 2 && from.rank() > 2 &&
         next->inputs[0] == node.outputs[0] && context.is_state(*next, 1) && to.rank() == 2 &&
         to[0] == from[0];
}

// Rows whose width stays are the same matrix under another shape.
std::optional<Rows> as_rows(ImportContext& context, const onnx::Node& node, const Shape& to) {
  const bool in_rows = context.has_rows(node, 0);
  if (in_rows && context.graph().dtype(context.rows_as_kept(node, 0).value) == DType::i32)
    return std::nullopt;
  if (!in_rows && (to.rank() < 3 || context.shape(node, 0).rank() != 2 || context.is_state(node, 0)))
    return std::nullopt;
  Rows rows = context.rows(node, 0);
  const Shape& matrix = context.graph().shape(rows.value);
  if (to.rank() < 2 || matrix.rank() != 2 || to.elements() != matrix.elements() ||
      to[to.rank() - 1] != matrix[1])
    return std::nullopt;
  if (!rows.swapped && to.rank() > 2) {
    rows.outer = to[0];
    rows.inner = matrix[0] / to[0];
  }
  return rows;
}

ValueId add_reshape(ImportContext& context, const onnx::Node& node, const std::vector<std::int64_t>& dims) {
  if (dims.size() > static_cast<std::size_t>(Shape::kMaxRank))
    context.decline("{} dimensions, at most {} are ours", dims.size(), Shape::kMaxRank);
  Shape to;
  for (const std::int64_t dim : dims) to.append(dim);
  context.want_elements(to);
  if (const auto rows = as_rows(context, node, to)) return context.keep_rows(node, *rows, to);
  const ValueId src = context.tensor(node, 0);
  const Shape& from = context.graph().shape(src);
  if (from.elements() == to.elements() && only_for_dense(context, node, from, to)) return src;
  return ops::reshape(context.graph(), context.name(node), src, to);
}

Shape shape_of_input(ImportContext& context, const onnx::Node& node) {
  return context.has_rows(node, 0) ? context.shape(node, 0) : context.graph().shape(context.tensor(node, 0));
}

ValueId import_reshape(ImportContext& context, const onnx::Node& node) {
  const Shape from = shape_of_input(context, node);
  if (!context.has(node, 1)) context.decline("it has no shape");
  std::vector<std::int64_t> dims = context.integers(node, 1);
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i < static_cast<std::size_t>(from.rank())) dims[i] = from[static_cast<int>(i)];
    if (dims[i] == -1 && open < 0) {
      open = static_cast<std::int64_t>(i);
    } else {
      if (dims[i] < 1 || dims[i] > kMaxElements / known) context.decline("dimension {}", dims[i]);
      known *= dims[i];
    }
  }
  if (open >= 0) dims[static_cast<std::size_t>(open)] = from.elements() / known;
  return add_reshape(context, node, dims);
}

ValueId import_flatten(ImportContext& context, const onnx::Node& node) {
  const Shape from = shape_of_input(context, node);
  const std::int64_t given = node.integer("axis", 1), axis = given < 0 ? given + from.rank() : given;
  if (axis < 0 || axis > from.rank()) context.decline("axis {} of {}", given, from.to_string());
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= from[i];
  return add_reshape(context, node, {rows, from.elements_from(static_cast<int>(axis))});
}

ValueId import_squeeze(ImportContext& context, const onnx::Node& node) {
  const Shape from = shape_of_input(context, node);
  const std::vector<std::int64_t> axes = context.squeezed_axes(node);
  std::vector<bool> gone(static_cast<std::size_t>(from.rank()), false);
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(checked_axis(axis, from.rank()))] = true;
  std::vector<std::int64_t> dims;
  for (int i = 0; i < from.rank(); ++i)
    if (axes.empty() ? from[i] != 1 : !gone[static_cast<std::size_t>(i)]) dims.push_back(from[i]);
  return add_reshape(context, node, dims);
}

ValueId import_unsqueeze(ImportContext& context, const onnx::Node& node) {
  const Shape from = shape_of_input(context, node);
  const std::vector<std::int64_t> axes = context.squeezed_axes(node);
  const auto rank = static_cast<std::size_t>(from.rank()) + axes.size();
  if (rank > static_cast<std::size_t>(Shape::kMaxRank)) context.decline("{} dimensions", rank);
  std::vector<std::int64_t> dims(rank, 0);
  for (const std::int64_t axis : axes)
    dims[static_cast<std::size_t>(checked_axis(axis, static_cast<int>(rank)))] = 1;
  int taken = 0;
  for (std::int64_t& dim : dims)
    if (dim == 0 && taken < from.rank()) dim = from[taken++];
  return add_reshape(context, node, dims);
}

ValueId import_identity(ImportContext& context, const onnx::Node& node) {
  if (!context.has_rows(node, 0)) return context.tensor(node, 0);
  return context.keep_rows(node, context.rows_as_kept(node, 0), context.shape(node, 0));
}

// Types that are one of ours are the same value.
ValueId import_cast(ImportContext& context, const onnx::Node& node) {
  const TensorSpec to{true, {}, onnx::type_of_number(node.integer("to", 0))};
  const ValueId src =
      context.has_rows(node, 0) ? context.rows_as_kept(node, 0).value : context.tensor(node, 0);
  const std::optional<graph::TensorType> type = type_of(to);
  if (!type || type->dtype != context.graph().dtype(src)) context.decline("from one type to another");
  return import_identity(context, node);
}

// Batch and steps may change their places without a move: the rows stay where they are.
ValueId import_transpose(ImportContext& context, const onnx::Node& node) {
  const Shape shape = context.shape(node, 0);
  std::vector<int> order;
  for (const std::int64_t axis : node.integers("perm")) order.push_back(checked_axis(axis, shape.rank()));
  if (order.empty())
    for (int axis = shape.rank(); axis > 0; --axis) order.push_back(axis - 1);
  if (context.has_rows(node, 0) && order == std::vector{1, 0, 2}) {
    const Rows rows = context.rows(node, 0);
    if (rows.outer == shape[0] && rows.inner == shape[1])
      return context.keep_rows(node, {rows.value, rows.inner, rows.outer, !rows.swapped, rows.all_equal},
                               {shape[1], shape[0], shape[2]});
  }
  return ops::permute(context.graph(), context.name(node), context.tensor(node, 0), std::move(order));
}

// A weight that is the same for all samples is looked up by one id: a class token.
ValueId import_expand(ImportContext& context, const onnx::Node& node) {
  const TensorSpec& wanted = context.known().spec(node.outputs[0]);
  const std::optional<graph::TensorType> type = type_of(wanted);
  if (!type) context.decline("its shape is not known");
  const Shape from = context.shape(node, 0), &to = type->shape;
  context.want_elements(to);
  if (from == to) return import_identity(context, node);
  const bool is_token = context.is_state(node, 0) && to.rank() >= 2 && from.elements() == to[to.rank() - 1] &&
                        from[from.rank() - 1] == from.elements();
  if (!is_token) return repeated(context, context.name(node), context.tensor(node, 0), to);
  Shape ids;
  for (int axis = 0; axis + 1 < to.rank(); ++axis) ids.append(to[axis]);
  const ValueId same = ops::fill(context.graph(), context.name(node) + "/id", {ids, DType::i32}, 0);
  return ops::embedding(context.graph(), context.name(node), context.state(node, 0, {1, from.elements()}),
                        same);
}

void export_dropout(ExportContext& context, const graph::Node& node) {
  context.add(
      node, "Dropout",
      {context.input(node, 0), context.constant(node, "ratio", node.attrs<ops::DropoutAttrs>().rate)});
}

// The ratio is an attribute until set 11 of operators, then an input.
ValueId import_dropout(ImportContext& context, const onnx::Node& node) {
  if (!context.training()) return import_identity(context, node);
  const onnx::Tensor* ratio = context.has(node, 1) ? context.constant(node.inputs[1]) : nullptr;
  const double rate =
      ratio != nullptr && ratio->numbers.size() == 1 ? ratio->numbers[0] : node.number("ratio", 0.5);
  if (rate == 0) return import_identity(context, node);
  if (!context.has_rows(node, 0))
    return ops::dropout(context.graph(), context.name(node), context.tensor(node, 0), rate);
  Rows rows = context.rows(node, 0);
  rows.value = ops::dropout(context.graph(), context.name(node), rows.value, rate);
  return context.keep_rows(node, rows, context.shape(node, 0));
}

// A first dimension that is the batch is read from the input.
void export_fill(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::FillAttrs>();
  const bool whole = attrs.type.dtype == DType::i32;
  const std::vector<std::int64_t> dims = dims_of(attrs.type.shape);
  const std::string from = dims.empty() ? "" : context.batch_input(dims[0]);
  std::string shape;
  if (from.empty()) {
    shape = context.constant(node, "shape", dims);
  } else {
    const std::string all = node.name + "/input_shape", batch = node.name + "/batch";
    shape = node.name + "/shape";
    context.add_part(all, "Shape", {from}, all);
    context.add_part(batch, "Slice",
                     {all, context.constant(node, "begin", std::vector<std::int64_t>{0}),
                      context.constant(node, "end", std::vector<std::int64_t>{1})},
                     batch);
    context.add_part(shape, "Concat", {batch, context.constant(node, "rest", {dims.begin() + 1, dims.end()})},
                     shape, {attribute("axis", std::int64_t{0})});
  }
  const onnx::Tensor value =
      whole ? small_tensor("", "i32", {1}, std::vector{static_cast<std::int32_t>(attrs.value)})
            : small_tensor("", "f32", {1}, std::vector{static_cast<float>(attrs.value)});
  context.add(node, "ConstantOfShape", {shape}, {attribute("value", value)});
}

void export_permute(ExportContext& context, const graph::Node& node) {
  const std::vector<int>& order = node.attrs<ops::PermuteAttrs>().order;
  context.add(node, "Transpose", {context.input(node, 0)},
              {attribute("perm", std::vector<std::int64_t>(order.begin(), order.end()))});
}

}  // namespace

std::vector<ImportRow> shape_import_rows() {
  return {{"Concat", import_concat},   {"Reshape", import_reshape},   {"Flatten", import_flatten},
          {"Squeeze", import_squeeze}, {"Identity", import_identity}, {"Unsqueeze", import_unsqueeze},
          {"Dropout", import_dropout}, {"Cast", import_cast},         {"Transpose", import_transpose},
          {"Expand", import_expand}};
}

std::vector<ExportRow> shape_export_rows() {
  return {{&ops::concat_op, export_concat},
          {&ops::reshape_op, export_reshape},
          {&ops::fill_op, export_fill},
          {&ops::permute_op, export_permute},
          {&ops::dropout_op, export_dropout}};
}

}  // namespace trainyard::interchange
