#include "ops/shape.h"

namespace trainyard::ops {

namespace {

using graph::Case;
using graph::Cost;
using graph::GradientContext;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

std::vector<TensorType> infer_cast(const NodeView& node) {
  const DType to = node.attrs<CastAttrs>().to;
  std::vector<TensorType> types;
  for (int i = 0; i < node.inputs(); ++i) {
    const DType from = node.input(i).type.dtype;
    if (from != to && (!is_float(from) || !is_float(to)))
      node.refuse("input {} '{}' is {}, which does not become {}", i, node.input(i).name,
                  node.input(i).type.to_string(), trainyard::name(to));
    types.push_back({node.input_shape(i), to});
  }
  return types;
}

Cost cost_cast(const NodeView& node) { return {.bytes_moved = bytes_touched(node)}; }

std::string describe_cast(const NodeView& node) {
  return fmt::format("to {}", trainyard::name(node.attrs<CastAttrs>().to));
}

// In f64 a cast is a copy, because a numeric gradient does not see the rounding.
std::vector<Case> cases_cast() {
  return {{"round_trip", [](Graph& graph, DType dtype) {
             const ValueId image = graph.add_input("image", {{2, 5, 3, 4}, dtype}, Initializer::normal(1));
             const ValueId weight = graph.add_input("weight", {{7, 33}, dtype}, Initializer::normal(1));
             const DType rounded = dtype == DType::f32 ? DType::bf16 : dtype;
             const auto low = cast(graph, "low", {image, weight}, rounded);
             for (const ValueId back : cast(graph, "back", low, dtype)) graph.mark_output(back);
           }}};
}

}  // namespace

const graph::OpDef cast_op{.name = "cast",
                           .infer = infer_cast,
                           .cost = cost_cast,
                           .cases = cases_cast,
                           .describe = describe_cast,
                           .lowering = graph::Lowering::mixed,
                           .category = graph::Category::copy,
                           .any_layout = true};

std::vector<ValueId> cast(Graph& graph, const std::string& name, std::vector<ValueId> sources, DType to) {
  return graph.add_node(cast_op, name, std::move(sources), CastAttrs{to});
}

namespace {

std::vector<TensorType> infer_concat(const NodeView& node) {
  if (node.inputs() < 1) node.refuse("got no inputs");
  const int axis = node.attrs<ConcatAttrs>().axis;
  Shape joined = node.input_shape(0);
  if (axis < 0 || axis >= joined.rank()) node.refuse("axis {} is not one of {}", axis, joined.to_string());
  for (int i = 1; i < node.inputs(); ++i) {
    Shape rest = node.input_shape(i);
    if (rest.rank() == joined.rank()) rest[axis] = joined[axis];
    if (!(rest == joined))
      node.refuse("input {} '{}' is {}, wants {} but for axis {}", i, node.input(i).name,
                  node.input_shape(i).to_string(), joined.to_string(), axis);
    joined[axis] += node.input_shape(i)[axis];
  }
  return {{joined, node.dtype()}};
}

Cost cost_concat(const NodeView& node) { return elementwise_cost(node, 0); }

void gradient_concat(GradientContext& context) {
  const int axis = context.node().attrs<ConcatAttrs>().axis;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i) {
    const Shape shape = context.graph().shape(context.node().inputs[i]);
    Shape from = shape;
    for (int a = 0; a < shape.rank(); ++a) from[a] = a == axis ? begin : 0;
    if (context.needs(static_cast<int>(i)))
      context.set(static_cast<int>(i),
                  slice(context.graph(), context.name("/d_part"), context.d_output(0), from, shape));
    begin += shape[axis];
  }
}

std::string describe_concat(const NodeView& node) {
  return fmt::format("axis {}", node.attrs<ConcatAttrs>().axis);
}

std::vector<Case> cases_concat() {
  const auto problem = [](std::vector<std::int64_t> channels, Shape shape, int axis) {
    return [=](Graph& graph, DType dtype) {
      std::vector<ValueId> parts;
      for (std::size_t i = 0; i < channels.size(); ++i) {
        Shape part = shape;
        part[axis] = channels[i];
        parts.push_back(graph.add_input(fmt::format("x{}", i), {part, dtype}, Initializer::normal(1)));
      }
      graph.mark_output(concat(graph, "y", parts, axis));
    };
  };
  return {{"channels", problem({16, 32}, {2, 0, 3, 3}, 1)},
          {"odd_channels", problem({3, 12, 5}, {2, 0, 3, 3}, 1)},
          {"densenet", problem({16, 12, 12}, {2, 0, 4, 4}, 1)},
          {"rows", problem({2, 3}, {2, 4, 0, 3}, 2)},
          {"matrix", problem({2, 3, 4}, {3, 0}, 1)}};
}

}  // namespace

const graph::OpDef concat_op{.name = "concat",
                             .infer = infer_concat,
                             .cost = cost_concat,
                             .gradient = gradient_concat,
                             .cases = cases_concat,
                             .describe = describe_concat,
                             .category = graph::Category::copy};

ValueId concat(Graph& graph, const std::string& name, std::vector<ValueId> parts, int axis) {
  return graph.add(concat_op, name, std::move(parts), ConcatAttrs{axis});
}

namespace {

std::vector<TensorType> infer_fill(const NodeView& node) {
  node.want_inputs(0, 0);
  return {node.attrs<FillAttrs>().type};
}

Cost cost_fill(const NodeView& node) { return elementwise_cost(node, 0); }

std::string describe_fill(const NodeView& node) { return fmt::format("{}", node.attrs<FillAttrs>().value); }

std::vector<Case> cases_fill() {
  return {{"matrix", [](Graph& graph, DType dtype) {
             graph.mark_output(fill(graph, "y", {{3, 4}, dtype}, 2.5));
           }}};
}

}  // namespace

const graph::OpDef fill_op{.name = "fill",
                           .infer = infer_fill,
                           .cost = cost_fill,
                           .cases = cases_fill,
                           .describe = describe_fill,
                           .category = graph::Category::copy};

ValueId fill(Graph& graph, const std::string& name, const TensorType& type, double value) {
  return graph.add(fill_op, name, {}, FillAttrs{type, value});
}

namespace {

std::vector<TensorType> infer_pad(const NodeView& node) {
  node.want_inputs(1, 1);
  const auto& attrs = node.attrs<PadAttrs>();
  Shape padded = node.input_shape(0);
  if (attrs.before.rank() != padded.rank() || attrs.after.rank() != padded.rank())
    node.refuse("padding has {} axes, input {} has {}", attrs.before.rank(), padded.to_string(),
                padded.rank());
  for (int axis = 0; axis < padded.rank(); ++axis) {
    if (attrs.before[axis] < 0 || attrs.after[axis] < 0) node.refuse("padding on axis {} is negative", axis);
    padded[axis] += attrs.before[axis] + attrs.after[axis];
  }
  return {{padded, node.dtype()}};
}

Cost cost_pad(const NodeView& node) { return elementwise_cost(node, 0); }

void gradient_pad(GradientContext& context) {
  context.set(0, slice(context.graph(), context.name("/d_src"), context.d_output(0),
                       context.node().attrs<PadAttrs>().before, context.graph().shape(context.input(0))));
}

std::string describe_pad(const NodeView& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  return fmt::format("before {} after {}", attrs.before.to_string(), attrs.after.to_string());
}

std::vector<Case> cases_pad() {
  const auto problem = [](Shape src, Shape before, Shape after) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {src, dtype}, Initializer::normal(1));
      graph.mark_output(pad(graph, "y", x, before, after));
    };
  };
  return {{"border", problem({2, 16, 4, 4}, {0, 0, 3, 3}, {0, 0, 2, 2})},
          {"channels", problem({2, 5, 3, 3}, {0, 2, 0, 0}, {0, 1, 0, 0})},
          {"matrix", problem({3, 5}, {0, 1}, {1, 0})}};
}

}  // namespace

const graph::OpDef pad_op{.name = "pad",
                          .infer = infer_pad,
                          .cost = cost_pad,
                          .gradient = gradient_pad,
                          .cases = cases_pad,
                          .describe = describe_pad,
                          .category = graph::Category::copy};

ValueId pad(Graph& graph, const std::string& name, ValueId src, const Shape& before, const Shape& after) {
  return graph.add(pad_op, name, {src}, PadAttrs{before, after});
}

namespace {

std::vector<TensorType> infer_reshape(const NodeView& node) {
  node.want_inputs(1, 1);
  const Shape& shape = node.attrs<ReshapeAttrs>().shape;
  if (shape.elements() != node.input_shape(0).elements())
    node.refuse("input {} has {} elements, {} wants {}", node.input_shape(0).to_string(),
                node.input_shape(0).elements(), shape.to_string(), shape.elements());
  return {{shape, node.dtype()}};
}

Cost cost_reshape(const NodeView&) { return {}; }

void gradient_reshape(GradientContext& context) {
  context.set(0, reshape(context.graph(), context.name("/d_src"), context.d_output(0),
                         context.graph().shape(context.input(0))));
}

std::vector<Case> cases_reshape() {
  return {{"flatten",
           [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 16, 3, 3}, dtype}, Initializer::normal(1));
             graph.mark_output(flatten(graph, "y", x));
           }},
          {"split_channels", [](Graph& graph, DType dtype) {
             const ValueId x = graph.add_input("x", {{2, 6, 2, 2}, dtype}, Initializer::normal(1));
             graph.mark_output(reshape(graph, "y", x, {2, 2, 3, 4}));
           }}};
}

}  // namespace

const graph::OpDef reshape_op{.name = "reshape",
                              .infer = infer_reshape,
                              .cost = cost_reshape,
                              .gradient = gradient_reshape,
                              .cases = cases_reshape,
                              .category = graph::Category::copy,
                              .in_place = graph::InPlace::first};

ValueId reshape(Graph& graph, const std::string& name, ValueId src, const Shape& shape) {
  return graph.add(reshape_op, name, {src}, ReshapeAttrs{shape});
}

ValueId flatten(Graph& graph, const std::string& name, ValueId src) {
  const Shape& shape = graph.shape(src);
  return reshape(graph, name, src, {shape[0], shape.elements_from(1)});
}

namespace {

std::vector<TensorType> infer_slice(const NodeView& node) {
  node.want_inputs(1, 1);
  const auto& attrs = node.attrs<SliceAttrs>();
  const Shape& src = node.input_shape(0);
  bool inside = attrs.begin.rank() == src.rank() && attrs.size.rank() == src.rank();
  for (int axis = 0; inside && axis < src.rank(); ++axis)
    inside = attrs.begin[axis] >= 0 && attrs.begin[axis] + attrs.size[axis] <= src[axis];
  if (!inside)
    node.refuse("box {} at {} is not inside input {}", attrs.size.to_string(), attrs.begin.to_string(),
                src.to_string());
  return {{attrs.size, node.dtype()}};
}

Cost cost_slice(const NodeView& node) { return {.bytes_moved = 2 * node.output(0).type.bytes()}; }

void gradient_slice(GradientContext& context) {
  const auto& attrs = context.node().attrs<SliceAttrs>();
  const Shape src = context.graph().shape(context.input(0));
  Shape after = src;
  for (int axis = 0; axis < src.rank(); ++axis)
    after[axis] = src[axis] - attrs.begin[axis] - attrs.size[axis];
  context.set(0, pad(context.graph(), context.name("/d_src"), context.d_output(0), attrs.begin, after));
}

std::string describe_slice(const NodeView& node) {
  return fmt::format("at {}", node.attrs<SliceAttrs>().begin.to_string());
}

std::vector<Case> cases_slice() {
  const auto problem = [](Shape src, Shape begin, Shape size) {
    return [=](Graph& graph, DType dtype) {
      const ValueId x = graph.add_input("x", {src, dtype}, Initializer::normal(1));
      graph.mark_output(slice(graph, "y", x, begin, size));
    };
  };
  return {{"channels", problem({2, 32, 3, 3}, {0, 16, 0, 0}, {2, 16, 3, 3})},
          {"odd_channels", problem({2, 11, 3, 3}, {0, 3, 0, 0}, {2, 5, 3, 3})},
          {"crop", problem({2, 4, 6, 7}, {0, 0, 1, 2}, {2, 4, 4, 3})},
          {"matrix", problem({3, 9}, {1, 2}, {2, 5})}};
}

}  // namespace

const graph::OpDef slice_op{.name = "slice",
                            .infer = infer_slice,
                            .cost = cost_slice,
                            .gradient = gradient_slice,
                            .cases = cases_slice,
                            .describe = describe_slice,
                            .category = graph::Category::copy};

ValueId slice(Graph& graph, const std::string& name, ValueId src, const Shape& begin, const Shape& size) {
  return graph.add(slice_op, name, {src}, SliceAttrs{begin, size});
}

std::vector<const graph::OpDef*> shape_ops() {
  return {&cast_op, &concat_op, &fill_op, &pad_op, &reshape_op, &slice_op};
}

}  // namespace trainyard::ops
