#include "ops/sequence/position.h"

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

std::vector<TensorType> infer_add_positions(const NodeView& node) {
  node.want_inputs(2, 2);
  const SequenceRows& rows = node.attrs<PositionsAttrs>().rows;
  want_sequences(node, rows);
  node.want_rank(1, 2);
  const Shape &src = node.input_shape(0), &table = node.input_shape(1);
  if (table[1] != src[1]) node.refuse("positions are {}, input is {}", table.to_string(), src.to_string());
  if (table[0] < rows.steps)
    node.refuse("sequences of {} steps, and only {} positions", rows.steps, table[0]);
  return {node.input(0).type};
}

Cost cost_add_positions(const NodeView& node) {
  return {.elementwise_flops = node.output_shape(0).elements(),
          .bytes_moved = 2 * node.input(0).type.bytes() +
                         static_cast<std::int64_t>(size_of(node.input(1).type.dtype)) *
                             node.attrs<PositionsAttrs>().rows.steps * node.input_shape(0)[1]};
}

void gradient_add_positions(GradientContext& context) {
  if (context.needs(0)) context.set(0, context.d_output(0));
  if (!context.needs(1)) return;
  PositionsAttrs attrs = context.node().attrs<PositionsAttrs>();
  attrs.positions = context.graph().shape(context.input(1))[0];
  context.set(
      1, context.graph().add(positions_d_table_op, context.name("/d_table"), {context.d_output(0)}, attrs));
}

std::vector<TensorType> infer_positions_d_table(const NodeView& node) {
  node.want_inputs(1, 1);
  const auto& attrs = node.attrs<PositionsAttrs>();
  want_sequences(node, attrs.rows);
  return {{{attrs.positions, node.input_shape(0)[1]}, sum_type(node.dtype())}};
}

Cost cost_positions_d_table(const NodeView& node) {
  return {.elementwise_flops = node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

std::string describe_positions(const NodeView& node) {
  return fmt::format("{} steps", node.attrs<PositionsAttrs>().rows.steps);
}

std::vector<Case> cases_add_positions() {
  const auto problem = [](std::int64_t sequences, std::int64_t width, std::int64_t positions,
                          SequenceRows rows) {
    return [=](Graph& graph, DType dtype) {
      const ValueId src =
          graph.add_input("src", {{sequences * rows.steps, width}, dtype}, Initializer::normal(1));
      const ValueId table = graph.add_parameter("table", {{positions, width}, dtype}, Initializer::normal(1));
      graph.mark_output(add_positions(graph, "y", src, table, rows));
    };
  };
  return {{"steps_first", problem(3, 16, 5, {5})},
          {"batch_first", problem(2, 20, 7, {7, true})},
          {"more_positions_than_steps", problem(4, 9, 12, {6})},
          {"one_sequence", problem(1, 33, 4, {3, true})}};
}

}  // namespace

const graph::OpDef add_positions_op{.name = "add_positions",
                                    .infer = infer_add_positions,
                                    .cost = cost_add_positions,
                                    .gradient = gradient_add_positions,
                                    .cases = cases_add_positions,
                                    .describe = describe_positions,
                                    .lowering = graph::Lowering::mixed,
                                    .in_place = graph::InPlace::first};
const graph::OpDef positions_d_table_op{.name = "positions_d_table",
                                        .infer = infer_positions_d_table,
                                        .cost = cost_positions_d_table,
                                        .describe = describe_positions,
                                        .lowering = graph::Lowering::mixed};

ValueId add_positions(Graph& graph, const std::string& name, ValueId src, ValueId table,
                      const SequenceRows& rows) {
  return graph.add(add_positions_op, name, {src, table}, PositionsAttrs{rows});
}

std::vector<double> sinusoids(std::int64_t steps, std::int64_t width) {
  std::vector<double> table;
  table.reserve(static_cast<std::size_t>(steps * width));
  for (std::int64_t t = 0; t < steps; ++t)
    for (std::int64_t c = 0; c < width; ++c) {
      const double angle = static_cast<double>(t) /
                           std::pow(10000.0, static_cast<double>(c / 2 * 2) / static_cast<double>(width));
      table.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

namespace {

std::vector<TensorType> infer_rotary(const NodeView& node) {
  node.want_inputs(1, 2);
  if (node.inputs() == 2 && (node.input(1).type.dtype != DType::i32 || !(node.input_shape(1) == Shape{1})))
    node.refuse("the first place is {}, wants i32 1", node.input(1).type.to_string());
  const auto& attrs = node.attrs<RotaryAttrs>();
  want_sequences(node, attrs.rows);
  if (attrs.head_size < 2 || attrs.head_size % 2 != 0)
    node.refuse("heads of {} numbers, which do not come in pairs", attrs.head_size);
  if (attrs.heads * attrs.head_size > node.input_shape(0)[1])
    node.refuse("{} heads of {} numbers are more than input {} has", attrs.heads, attrs.head_size,
                node.input_shape(0).to_string());
  if (!(attrs.base > 1)) node.refuse("base {} is not above 1", attrs.base);
  return {node.input(0).type};
}

Cost cost_rotary(const NodeView& node) {
  const auto& attrs = node.attrs<RotaryAttrs>();
  return {.elementwise_flops = 3 * node.input_shape(0)[0] * attrs.heads * attrs.head_size,
          .bytes_moved = bytes_touched(node)};
}

void gradient_rotary(GradientContext& context) {
  RotaryAttrs attrs = context.node().attrs<RotaryAttrs>();
  attrs.inverse = !attrs.inverse;
  const ValueId first = context.node().inputs.size() == 2 ? context.input(1) : graph::kNone;
  context.set(0, rotary(context.graph(), context.name("/d_src"), context.d_output(0), first, attrs));
}

std::string describe_rotary(const NodeView& node) {
  const auto& attrs = node.attrs<RotaryAttrs>();
  return fmt::format("{} heads of {}{}", attrs.heads, attrs.head_size, attrs.inverse ? ", back" : "");
}

std::vector<Case> cases_rotary() {
  const auto problem = [](std::int64_t sequences, std::int64_t width, RotaryAttrs attrs,
                          int first_place = 0) {
    return [=](Graph& graph, DType dtype) {
      const ValueId src =
          graph.add_input("src", {{sequences * attrs.rows.steps, width}, dtype}, Initializer::normal(1));
      const ValueId first =
          first_place == 0 ? graph::kNone
                           : graph.add_input("first", {{1}, DType::i32}, Initializer::constant(first_place));
      graph.mark_output(rotary(graph, "y", src, first, attrs));
    };
  };
  return {
      {"whole_rows", problem(2, 64, {.heads = 4, .head_size = 16, .rows = {9}})},
      {"queries_and_keys", problem(3, 96, {.heads = 4, .head_size = 16, .rows = {6, true}})},
      {"pairs", problem(2, 7, {.heads = 3, .head_size = 2, .rows = {5}})},
      {"later_place", problem(2, 32, {.heads = 2, .head_size = 16, .rows = {3}}, 500)},
      {"back", problem(1, 40, {.heads = 2, .head_size = 10, .rows = {8}, .base = 500000, .inverse = true})}};
}

}  // namespace

const graph::OpDef rotary_op{.name = "rotary",
                             .infer = infer_rotary,
                             .cost = cost_rotary,
                             .gradient = gradient_rotary,
                             .cases = cases_rotary,
                             .describe = describe_rotary,
                             .in_place = graph::InPlace::first};

ValueId rotary(Graph& graph, const std::string& name, ValueId src, ValueId first, const RotaryAttrs& attrs) {
  std::vector<ValueId> inputs{src};
  if (first != graph::kNone) inputs.push_back(first);
  return graph.add(rotary_op, name, std::move(inputs), attrs);
}

std::vector<const graph::OpDef*> position_ops() {
  return {&add_positions_op, &positions_d_table_op, &rotary_op};
}

}  // namespace trainyard::ops
