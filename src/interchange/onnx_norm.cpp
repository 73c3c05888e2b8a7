// This file maps norms of rows and units of smooth form. Export writes the decomposed form where few readers
// know a newer operator.

#include "interchange/onnx_rules.h"
#include "ops/layer_norm.h"
#include "ops/smooth_unit.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;
using ops::SmoothKind;

std::string add_below(ExportContext& context, const graph::Node& node, const char* what, const char* type,
                      std::vector<std::string> inputs, std::vector<onnx::Attribute> attributes = {}) {
  const std::string name = node.name + "/" + what;
  context.add_part(name, type, std::move(inputs), name, std::move(attributes));
  return name;
}

void export_layer_norm(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::LayerNormAttrs>();
  const std::string src = context.input(node, 0), gamma = context.input(node, 1);
  if (attrs.centred)
    return context.add(node, "LayerNormalization", {src, gamma, context.input(node, 2)},
                       {attribute("axis", std::int64_t{-1}), attribute("epsilon", attrs.epsilon)});
  const std::string square = add_below(context, node, "square", "Mul", {src, src});
  const std::string mean =
      add_below(context, node, "mean", "ReduceMean", {square},
                {attribute("axes", std::vector<std::int64_t>{-1}), attribute("keepdims", std::int64_t{1})});
  const std::string sum =
      add_below(context, node, "sum", "Add", {mean, context.constant(node, "epsilon", attrs.epsilon)});
  const std::string root = add_below(context, node, "root", "Sqrt", {sum});
  context.add(node, "Mul", {add_below(context, node, "quotient", "Div", {src, root}), gamma});
}

// Adds the nodes up to the last product, and returns its factors.
std::vector<std::string> export_unit(ExportContext& context, const graph::Node& node, SmoothKind kind,
                                     const std::string& src) {
  const auto part = [&](const char* what, const char* type, std::vector<std::string> inputs) {
    return add_below(context, node, what, type, std::move(inputs));
  };
  if (kind == SmoothKind::silu) return {src, part("sigmoid", "Sigmoid", {src})};
  std::string inner;
  if (kind == SmoothKind::gelu) {
    inner = part("erf", "Erf",
                 {part("scaled", "Div", {src, context.constant(node, "root_of_2", std::sqrt(2.0))})});
  } else {
    const std::string cube = part("cube", "Mul", {src, part("square", "Mul", {src, src})});
    const std::string sum =
        part("sum", "Add", {src, part("bent", "Mul", {cube, context.constant(node, "bend", 0.044715)})});
    inner = part(
        "tanh", "Tanh",
        {part("scaled", "Mul", {sum, context.constant(node, "factor", std::sqrt(2 / std::numbers::pi))})});
  }
  const std::string above = part("above_zero", "Add", {inner, context.constant(node, "one", 1.0)});
  return {part("product", "Mul", {src, above}), context.constant(node, "half", 0.5)};
}

void export_smooth_unit(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::SmoothUnitAttrs>();
  const std::string src = context.input(node, 0);
  if (!attrs.gated) return context.add(node, "Mul", export_unit(context, node, attrs.kind, src));
  const std::int64_t width = context.graph().shape(node.outputs[0])[1];
  const auto columns = [&](const char* what, const char* bounds, std::int64_t begin) {
    const std::string from = std::string(bounds) + "_begin", to = std::string(bounds) + "_end",
                      axis = std::string(bounds) + "_axis";
    return add_below(context, node, what, "Slice",
                     {src, context.constant(node, from.c_str(), std::vector{begin}),
                      context.constant(node, to.c_str(), std::vector{begin + width}),
                      context.constant(node, axis.c_str(), std::vector<std::int64_t>{1})});
  };
  const std::string first = columns("gate", "gate", 0), second = columns("value", "value", width);
  const std::string unit =
      add_below(context, node, "unit", "Mul", export_unit(context, node, attrs.kind, first));
  context.add(node, "Mul", {unit, second});
}

// Norms are over the last axis, with a factor for each of its numbers.
ValueId import_norm(ImportContext& context, const onnx::Node& node, bool centred) {
  const Shape shape = context.shape(node, 0);
  if (shape.rank() < 2) context.decline("its input is {}", shape.to_string());
  const std::int64_t axis = node.integer("axis", -1), width = shape[shape.rank() - 1];
  if (axis != -1 && axis != shape.rank() - 1) context.decline("only over the last axis is it ours");
  if (centred && !context.has(node, 2)) context.decline("it has no offset");
  Rows rows = context.rows(node, 0);
  const ValueId gamma = context.state(node, 1, {width});
  const ValueId beta = centred ? context.state(node, 2, {width}) : static_cast<ValueId>(graph::kNone);
  rows.value = ops::layer_norm(context.graph(), context.name(node), rows.value, gamma, beta,
                               node.number("epsilon", 1e-5));
  return context.keep_rows(node, rows, shape);
}

ValueId import_layer_norm(ImportContext& context, const onnx::Node& node) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (context.is_read(node.outputs[i])) context.decline("its mean or deviation is read");
  return import_norm(context, node, true);
}

ValueId import_rms_norm(ImportContext& context, const onnx::Node& node) {
  return import_norm(context, node, false);
}

ValueId add_unit(ImportContext& context, const onnx::Node& node, const ops::SmoothUnitAttrs& attrs) {
  // Images stay images, in whatever layout they lie.
  if (!attrs.gated && !context.has_rows(node, 0) &&
      context.graph().shape(context.tensor(node, 0)).rank() != 3)
    return ops::smooth_unit(context.graph(), context.name(node), context.tensor(node, 0), attrs);
  Rows rows = context.rows(node, 0);
  Shape shape = context.shape(node, 0);
  if (attrs.gated) shape[shape.rank() - 1] /= 2;
  rows.value = ops::smooth_unit(context.graph(), context.name(node), rows.value, attrs);
  return context.keep_rows(node, rows, shape);
}

SmoothKind gelu_of(const onnx::Node& node) {
  return node.text("approximate", "none") == "tanh" ? SmoothKind::gelu_tanh : SmoothKind::gelu;
}

ValueId import_gelu(ImportContext& context, const onnx::Node& node) {
  return add_unit(context, node, {gelu_of(node), false});
}

ValueId import_silu(ImportContext& context, const onnx::Node& node) {
  return add_unit(context, node, {SmoothKind::silu, false});
}

// A gated unit of a pattern: of gelu it says which form, of silu nothing.
ValueId import_gated(ImportContext& context, const onnx::Node& node) {
  const bool is_gelu = node.find("approximate") != nullptr;
  return add_unit(context, node, {is_gelu ? gelu_of(node) : SmoothKind::silu, true});
}

}  // namespace

std::vector<ImportRow> norm_import_rows() {
  return {{"LayerNormalization", import_layer_norm},
          {"RMSNormalization", import_rms_norm},
          {"Gelu", import_gelu},
          {"Silu", import_silu},
          {"Gated", import_gated}};
}

std::vector<ExportRow> norm_export_rows() {
  return {{&ops::layer_norm_op, export_layer_norm}, {&ops::smooth_unit_op, export_smooth_unit}};
}

}  // namespace trainyard::interchange
