// This file maps sums and products of several operands. Operands that are broadcast are repeated.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/sequence/position.h"
#include "ops/shape.h"

namespace trainyard::interchange {

namespace {

using graph::ValueId;
using ops::PointwiseKind;

// Returns the shape to which all operands are broadcast.
Shape joined_shape(ImportContext& context, const onnx::Node& node) {
  Shape joined;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape shape = context.shape(node, i);
    Shape longer = shape.rank() > joined.rank() ? shape : joined;
    const Shape& shorter = shape.rank() > joined.rank() ? joined : shape;
    const int shift = longer.rank() - shorter.rank();
    for (int axis = 0; axis < shorter.rank(); ++axis) {
      std::int64_t& dim = longer[axis + shift];
      if (dim != 1 && shorter[axis] != 1 && dim != shorter[axis])
        context.decline("{} and {} do not go together", joined.to_string(), shape.to_string());
      if (dim == 1) dim = shorter[axis];
    }
    joined = longer;
  }
  context.want_elements(joined);
  return joined;
}

// Makes an op on rows, where one operand lies as rows and all have its shape. Nothing where that is not so.
template <typename Make>
std::optional<ValueId> of_rows(ImportContext& context, const onnx::Node& node, const Make& make) {
  bool any_rows = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) any_rows = any_rows || context.has_rows(node, i);
  if (!any_rows) return std::nullopt;
  const Shape shape = joined_shape(context, node);
  std::optional<Rows> like;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!(context.shape(node, i) == shape)) return std::nullopt;
    const Rows rows = context.rows(node, i);
    if (like && !rows.same_order(*like)) return std::nullopt;
    if (!like || like->all_equal) like = rows;
  }
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) values.push_back(context.rows(node, i).value);
  like->value = make(std::move(values));
  return context.keep_rows(node, *like, shape);
}

// Makes an op element by element of all inputs.
template <typename Make>
ValueId of_all(ImportContext& context, const onnx::Node& node, const Make& make) {
  if (node.inputs.empty()) context.decline("it has no inputs");
  if (const auto made = of_rows(context, node, make)) return *made;
  const Shape shape = joined_shape(context, node);
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    values.push_back(repeated(context, context.name(node), context.tensor(node, i), shape));
  return make(std::move(values));
}

// The only number of a constant operand that has no more axes than the other one, which so keeps its shape.
std::optional<double> number_beside(ImportContext& context, const onnx::Node& node, std::size_t input) {
  const onnx::Tensor* tensor = context.has(node, input) ? context.constant(node.inputs[input]) : nullptr;
  if (tensor == nullptr || tensor->numbers.size() != 1 || node.inputs.size() != 2) return std::nullopt;
  return static_cast<int>(tensor->dims.size()) <= context.shape(node, 1 - input).rank()
             ? std::optional(tensor->numbers[0])
             : std::nullopt;
}

ValueId add_linear(ImportContext& context, const onnx::Node& node, std::size_t input, double factor,
                   double offset) {
  return of_each(context, node, input, [&](ValueId src) {
    if (offset == 0) return ops::scale(context.graph(), context.name(node), src, factor);
    return ops::pointwise(context.graph(), context.name(node), src, {PointwiseKind::linear, factor, offset});
  });
}

// A vector that is added to every row is a table of one position.
ValueId add_vector(ImportContext& context, const onnx::Node& node, std::size_t input) {
  Rows rows = context.rows(node, input);
  const Shape vector = context.shape(node, 1 - input);
  const ValueId table = context.state(node, 1 - input, {1, vector[0]});
  rows.value = ops::add_positions(context.graph(), context.name(node), rows.value, table, {1, true});
  return context.keep_rows(node, rows, context.shape(node, input));
}

bool is_bias_of(ImportContext& context, const onnx::Node& node, std::size_t vector, std::size_t input) {
  if (!context.is_state(node, vector) || context.is_state(node, input) ||
      context.known().is_constant(node.inputs[vector]))
    return false;
  const Shape bias = context.shape(node, vector), src = context.shape(node, input);
  return bias.rank() == 1 && src.rank() > 1 && src[src.rank() - 1] == bias[0];
}

ValueId sum_of(ImportContext& context, const onnx::Node& node, std::vector<ValueId> terms) {
  return ops::add(context.graph(), context.name(node), std::move(terms));
}

ValueId import_add(ImportContext& context, const onnx::Node& node) {
  if (node.inputs.size() == 2)
    for (const std::size_t i : {0, 1}) {
      if (const auto number = number_beside(context, node, 1 - i))
        return add_linear(context, node, i, 1, *number);
      if (is_bias_of(context, node, 1 - i, i)) return add_vector(context, node, i);
    }
  return of_all(context, node,
                [&](std::vector<ValueId> terms) { return sum_of(context, node, std::move(terms)); });
}

ValueId import_mean(ImportContext& context, const onnx::Node& node) {
  const auto share = 1 / static_cast<double>(std::max<std::size_t>(1, node.inputs.size()));
  return of_all(context, node, [&](std::vector<ValueId> terms) {
    return ops::scale(context.graph(), context.name(node) + "/share", sum_of(context, node, std::move(terms)),
                      share);
  });
}

void want_two(const onnx::Node& node) {
  if (node.inputs.size() != 2) ImportContext::decline("it has {} inputs", node.inputs.size());
}

ValueId difference(ImportContext& context, const onnx::Node& node, ValueId a, ValueId b) {
  const ValueId minus = ops::scale(context.graph(), context.name(node) + "/minus", b, -1);
  return ops::add(context.graph(), context.name(node), {a, minus});
}

ValueId import_sub(ImportContext& context, const onnx::Node& node) {
  want_two(node);
  if (const auto number = number_beside(context, node, 1)) return add_linear(context, node, 0, 1, -*number);
  if (const auto number = number_beside(context, node, 0)) return add_linear(context, node, 1, -1, *number);
  return of_all(context, node, [&](const std::vector<ValueId>& values) {
    return difference(context, node, values[0], values[1]);
  });
}

ValueId import_neg(ImportContext& context, const onnx::Node& node) {
  return add_linear(context, node, 0, -1, 0);
}

// Rows times a vector of factors stay rows.
ValueId multiply_vector(ImportContext& context, const onnx::Node& node, std::size_t input) {
  Rows rows = context.rows(node, input);
  const Shape matrix = context.graph().shape(rows.value);
  const ValueId vector = context.state(node, 1 - input, {1, matrix[1]});
  const ValueId factors = ops::repeat(context.graph(), context.name(node) + "/factors", vector, matrix);
  rows.value = ops::multiply(context.graph(), context.name(node), rows.value, factors);
  return context.keep_rows(node, rows, context.shape(node, input));
}

ValueId import_mul(ImportContext& context, const onnx::Node& node) {
  want_two(node);
  for (const std::size_t i : {0, 1}) {
    if (const auto number = number_beside(context, node, 1 - i))
      return add_linear(context, node, i, *number, 0);
    if (context.has_rows(node, i) && is_bias_of(context, node, 1 - i, i))
      return multiply_vector(context, node, i);
  }
  return of_all(context, node, [&](const std::vector<ValueId>& factors) {
    return ops::multiply(context.graph(), context.name(node), factors[0], factors[1]);
  });
}

ValueId import_div(ImportContext& context, const onnx::Node& node) {
  want_two(node);
  graph::Graph& graph = context.graph();
  const std::string inverse = context.name(node) + "/inverse";
  if (const auto number = number_beside(context, node, 1)) {
    if (*number == 0) context.decline("it divides by zero");
    return add_linear(context, node, 0, 1 / *number, 0);
  }
  if (const auto number = number_beside(context, node, 0))
    return of_each(context, node, 1, [&](ValueId src) {
      return ops::scale(graph, context.name(node),
                        ops::pointwise(graph, inverse, src, {PointwiseKind::reciprocal}), *number);
    });
  return of_all(context, node, [&](const std::vector<ValueId>& values) {
    const ValueId below = ops::pointwise(graph, inverse, values[1], {PointwiseKind::reciprocal});
    return ops::multiply(graph, context.name(node), values[0], below);
  });
}

ValueId import_pow(ImportContext& context, const onnx::Node& node) {
  const auto exponent = number_beside(context, node, 1);
  if (!exponent) context.decline("only a power of one number is ours");
  return of_each(context, node, 0, [&](ValueId src) {
    if (*exponent == 2) return ops::multiply(context.graph(), context.name(node), src, src);
    return ops::pointwise(context.graph(), context.name(node), src, {PointwiseKind::power, *exponent});
  });
}

// max(a, b) = b + relu(a - b), and the least is what that leaves of a + b.
template <bool most>
ValueId import_extreme(ImportContext& context, const onnx::Node& node) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (node.inputs.size() == 1) return of_each(context, node, 0, [](ValueId src) { return src; });
  want_two(node);
  for (const std::size_t i : {0, 1})
    if (const auto number = number_beside(context, node, 1 - i))
      return of_each(context, node, i, [&](ValueId src) {
        return ops::pointwise(context.graph(), context.name(node), src,
                              {PointwiseKind::clip, most ? *number : -kInfinite, most ? kInfinite : *number});
      });
  return of_all(context, node, [&](const std::vector<ValueId>& values) {
    graph::Graph& graph = context.graph();
    const ValueId above =
        ops::relu(graph, context.name(node) + "/above", difference(context, node, values[0], values[1]));
    return most ? ops::add(graph, context.name(node), {values[1], above})
                : difference(context, node, values[0], above);
  });
}

// A leaky ReLU whose slope is a weight: relu(x) + slope (x - relu(x)).
ValueId import_prelu(ImportContext& context, const onnx::Node& node) {
  want_two(node);
  return of_all(context, node, [&](const std::vector<ValueId>& values) {
    graph::Graph& graph = context.graph();
    const std::string name = context.name(node);
    const ValueId above = ops::relu(graph, name + "/above", values[0]);
    const ValueId below = difference(context, node, values[0], above);
    return ops::add(graph, name, {above, ops::multiply(graph, name + "/below", below, values[1])});
  });
}

void export_add(ExportContext& context, const graph::Node& node) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(context.input(node, i));
  const char* type = inputs.size() == 2 ? "Add" : "Sum";
  context.add(node, type, std::move(inputs));
}

void export_multiply(ExportContext& context, const graph::Node& node) {
  context.add(node, "Mul", {context.input(node, 0), context.input(node, 1)});
}

void export_scale(ExportContext& context, const graph::Node& node) {
  context.add(
      node, "Mul",
      {context.input(node, 0), context.constant(node, "factor", node.attrs<ops::ScaleAttrs>().factor)});
}

// Axes that stay have length 1 in the shape that is written, so that a reader may choose another batch.
void export_repeat(ExportContext& context, const graph::Node& node) {
  const Shape &src = context.graph().shape(node.inputs[0]), &dst = context.graph().shape(node.outputs[0]);
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < dst.rank(); ++axis) dims.push_back(src[axis] == dst[axis] ? 1 : dst[axis]);
  context.add(node, "Expand", {context.input(node, 0), context.constant(node, "shape", dims)});
}

}  // namespace

ValueId repeated(ImportContext& context, const std::string& name, ValueId src, const Shape& shape) {
  graph::Graph& graph = context.graph();
  Shape now = graph.shape(src);
  if (now == shape) return src;
  Shape whole;
  for (int axis = now.rank(); axis < shape.rank(); ++axis) whole.append(1);
  for (const std::int64_t dim : now) whole.append(dim);
  if (!(whole == now)) src = ops::reshape(graph, name + "/operand", src, whole);
  return whole == shape ? src : ops::repeat(graph, name + "/repeated", src, shape);
}

std::vector<ImportRow> arithmetic_import_rows() {
  return {{"Add", import_add},           {"Sum", import_add},
          {"Mean", import_mean},         {"Sub", import_sub},
          {"Neg", import_neg},           {"Mul", import_mul},
          {"Div", import_div},           {"Pow", import_pow},
          {"Max", import_extreme<true>}, {"Min", import_extreme<false>},
          {"PRelu", import_prelu}};
}

std::vector<ExportRow> arithmetic_export_rows() {
  return {{&ops::add_op, export_add},
          {&ops::multiply_op, export_multiply},
          {&ops::scale_op, export_scale},
          {&ops::repeat_op, export_repeat}};
}

}  // namespace trainyard::interchange
