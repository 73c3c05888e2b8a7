// This file maps ops that move numbers and compute none, and dropout, which computes nothing in ONNX's form
// of inference.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
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

// A negative axis counts from the end.
int checked_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) ImportContext::decline("axis {} is not one of {} dimensions", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

ValueId import_concat(ImportContext& context, const onnx::Node& node) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) parts.push_back(context.tensor(node, i));
  if (parts.empty()) context.decline("it joins nothing");
  const int axis = checked_axis(node.integer("axis", 1), context.graph().shape(parts[0]).rank());
  return ops::concat(context.graph(), context.name(node), std::move(parts), axis);
}

void export_slice(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::SliceAttrs>();
  // Axes that stay whole are not named, so that a reader may choose another batch.
  const Shape& src = context.graph().shape(node.inputs[0]);
  std::vector<std::int64_t> begins, ends, axes;
  for (int axis = 0; axis < attrs.begin.rank(); ++axis) {
    if (attrs.size[axis] == src[axis]) continue;
    begins.push_back(attrs.begin[axis]);
    ends.push_back(attrs.begin[axis] + attrs.size[axis]);
    axes.push_back(axis);
  }
  if (axes.empty()) return context.add(node, "Identity", {context.input(node, 0)});
  context.add(node, "Slice",
              {context.input(node, 0), context.constant(node, "begin", begins),
               context.constant(node, "end", ends), context.constant(node, "axes", axes)});
}

ValueId import_slice(ImportContext& context, const onnx::Node& node) {
  const ValueId src = context.tensor(node, 0);
  Shape begin, size = context.graph().shape(src);
  for (int axis = 0; axis < size.rank(); ++axis) begin.append(0);
  if (!context.has(node, 1)) context.decline("its bounds are attributes, as before set 10 of operators");
  const std::vector<std::int64_t> starts = context.integers(node, 1), ends = context.integers(node, 2);
  std::vector<std::int64_t> axes;
  if (context.has(node, 3)) axes = context.integers(node, 3);
  if (!context.has(node, 3))
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (context.has(node, 4))
    for (const std::int64_t step : context.integers(node, 4))
      if (step != 1) context.decline("it takes steps of {}", step);
  if (ends.size() != starts.size() || axes.size() != starts.size())
    context.decline("{} starts, {} ends and {} axes", starts.size(), ends.size(), axes.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int axis = checked_axis(axes[i], size.rank());
    const std::int64_t dim = context.graph().shape(src)[axis];
    const auto inside = [dim](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + dim : at, 0, dim);
    };
    begin[axis] = inside(starts[i]);
    size[axis] = inside(ends[i]) - begin[axis];
    if (size[axis] < 1) context.decline("nothing is left of axis {}", axis);
  }
  return ops::slice(context.graph(), context.name(node), src, begin, size);
}

void export_pad(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::PadAttrs>();
  std::vector<std::int64_t> pads = dims_of(attrs.before);
  pads.insert(pads.end(), attrs.after.begin(), attrs.after.end());
  context.add(node, "Pad", {context.input(node, 0), context.constant(node, "pads", pads)});
}

ValueId import_pad(ImportContext& context, const onnx::Node& node) {
  const onnx::Tensor* fill = context.has(node, 2) ? context.constant(node.inputs[2]) : nullptr;
  if (node.text("mode", "constant") != "constant" || context.has(node, 3) ||
      (context.has(node, 2) && (fill == nullptr || fill->numbers != std::vector<double>{0})))
    context.decline("only zeros on every axis are ours");
  const ValueId src = context.tensor(node, 0);
  const Shape& shape = context.graph().shape(src);
  const std::vector<std::int64_t> pads =
      context.has(node, 1) ? context.integers(node, 1) : node.integers("pads");
  if (pads.size() != 2 * static_cast<std::size_t>(shape.rank()))
    context.decline("{} pads for {}", pads.size(), shape.to_string());
  Shape before, after, padded = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    for (const std::int64_t pad : {pads[at], pads[at + pads.size() / 2]})
      if (pad < 0 || pad > kMaxElements) context.decline("a pad of {}", pad);
    before.append(pads[at]);
    after.append(pads[at + pads.size() / 2]);
    padded[axis] += before[axis] + after[axis];
  }
  context.want_elements(padded);
  return ops::pad(context.graph(), context.name(node), src, before, after);
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

ValueId add_reshape(ImportContext& context, const onnx::Node& node, const std::vector<std::int64_t>& dims) {
  if (dims.size() > static_cast<std::size_t>(Shape::kMaxRank))
    context.decline("{} dimensions, at most {} are ours", dims.size(), Shape::kMaxRank);
  Shape to;
  for (const std::int64_t dim : dims) to.append(dim);
  context.want_elements(to);
  const ValueId src = context.tensor(node, 0);
  const Shape& from = context.graph().shape(src);
  if (from.elements() == to.elements() && only_for_dense(context, node, from, to)) return src;
  return ops::reshape(context.graph(), context.name(node), src, to);
}

ValueId import_reshape(ImportContext& context, const onnx::Node& node) {
  const Shape from = context.graph().shape(context.tensor(node, 0));
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
  const Shape from = context.graph().shape(context.tensor(node, 0));
  const std::int64_t axis = node.integer("axis", 1);
  if (axis < 0 || axis > from.rank()) context.decline("axis {} of {}", axis, from.to_string());
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= from[i];
  return add_reshape(context, node, {rows, from.elements_from(static_cast<int>(axis))});
}

ValueId import_squeeze(ImportContext& context, const onnx::Node& node) {
  const Shape from = context.graph().shape(context.tensor(node, 0));
  const std::vector<std::int64_t> axes = context.squeezed_axes(node);
  std::vector<bool> gone(static_cast<std::size_t>(from.rank()), false);
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(checked_axis(axis, from.rank()))] = true;
  std::vector<std::int64_t> dims;
  for (int i = 0; i < from.rank(); ++i)
    if (axes.empty() ? from[i] != 1 : !gone[static_cast<std::size_t>(i)]) dims.push_back(from[i]);
  return add_reshape(context, node, dims);
}

ValueId import_unsqueeze(ImportContext& context, const onnx::Node& node) {
  const Shape from = context.graph().shape(context.tensor(node, 0));
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

ValueId import_identity(ImportContext& context, const onnx::Node& node) { return context.tensor(node, 0); }

void export_dropout(ExportContext& context, const graph::Node& node) {
  context.add(
      node, "Dropout",
      {context.input(node, 0), context.constant(node, "ratio", node.attrs<ops::DropoutAttrs>().rate)});
}

// The ratio is an attribute until set 11 of operators, then an input.
ValueId import_dropout(ImportContext& context, const onnx::Node& node) {
  const ValueId src = context.tensor(node, 0);
  if (!context.training()) return src;
  const onnx::Tensor* ratio = context.has(node, 1) ? context.constant(node.inputs[1]) : nullptr;
  const double rate =
      ratio != nullptr && ratio->numbers.size() == 1 ? ratio->numbers[0] : node.number("ratio", 0.5);
  return ops::dropout(context.graph(), context.name(node), src, rate);
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
  return {{"Concat", import_concat},     {"Slice", import_slice},         {"Pad", import_pad},
          {"Reshape", import_reshape},   {"Flatten", import_flatten},     {"Squeeze", import_squeeze},
          {"Identity", import_identity}, {"Unsqueeze", import_unsqueeze}, {"Dropout", import_dropout}};
}

std::vector<ExportRow> shape_export_rows() {
  return {{&ops::concat_op, export_concat},
          {&ops::slice_op, export_slice},
          {&ops::pad_op, export_pad},
          {&ops::reshape_op, export_reshape},
          {&ops::fill_op, export_fill},
          {&ops::permute_op, export_permute},
          {&ops::dropout_op, export_dropout}};
}

}  // namespace trainyard::interchange
