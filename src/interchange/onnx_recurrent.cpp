// This file makes recurrent layers over whole sequences ours.

#include "interchange/onnx_recurrent.h"
#include "interchange/onnx_patterns.h"
#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/elementwise.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;
using ops::RecurrentCell;

// Arranges ONNX's blocks in our order of gates.
Arrangement gates_of_ours(const CellRow& row) {
  return {fmt::format("gates of {}", row.type), [blocks = row.blocks](const std::vector<double>& from) {
            const std::size_t block = from.size() / blocks.size();
            std::vector<double> to(from.size());
            for (std::size_t i = 0; i < blocks.size(); ++i)
              std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * block), block,
                          to.begin() + static_cast<std::ptrdiff_t>(blocks[i] * block));
            return to;
          }};
}

// Our own files keep one bias, beside zeros. The new state of a GRU takes a second one into its product with
// the reset gate.
Arrangement first_biases(const CellRow& row) {
  const Arrangement gates = gates_of_ours(row);
  return {"first " + gates.name, [gates](std::vector<double> from) {
            from.resize(from.size() / 2);
            return gates.apply(std::move(from));
          }};
}

// Arranges each of several equal parts, one after the other.
Arrangement of_parts(const Arrangement& one, std::size_t parts) {
  return {fmt::format("{} times {}", parts, one.name), [one, parts](const std::vector<double>& from) {
            std::vector<double> to;
            const auto size = static_cast<std::ptrdiff_t>(from.size() / parts);
            for (auto at = from.begin(); at + size <= from.end() && size > 0; at += size) {
              const std::vector<double> part = one.apply({at, at + size});
              to.insert(to.end(), part.begin(), part.end());
            }
            return to;
          }};
}

// Direction holds the weights of a layer in one direction.
struct Direction {
  ValueId weight = graph::kNone, recurrent_weight = graph::kNone, bias = graph::kNone;
};

struct Layer {
  const CellRow& row;
  std::int64_t directions = 1, hidden = 1, gates = 1, inputs = 1;
  bool reversed = false;  // where there is one direction

  std::int64_t rows() const { return gates * hidden; }
};

bool is_zero(ImportContext& context, const std::string& value) {
  const auto numbers = context.known().numbers(value);
  return numbers != nullptr &&
         std::all_of(numbers->begin(), numbers->end(), [](double number) { return number == 0; });
}

void want_plain(ImportContext& context, const onnx::Node& node, RecurrentCell cell) {
  if (node.find("activations") != nullptr || node.find("clip") != nullptr || node.integer("layout", 0) != 0)
    context.decline("activations, clip or layout is not the usual one");
  if (cell == RecurrentCell::gru && node.integer("linear_before_reset", 0) == 0)
    context.decline("its reset comes before the matrix product; ours after (linear_before_reset=1)");
  const bool of_pattern = node.domain == kOwnDomain;
  const std::size_t lengths = of_pattern ? 1 : 4;  // and both first states behind them
  if (context.has(node, lengths) || (!of_pattern && context.has(node, 7)))
    context.decline("lengths and peepholes are not ours");
  for (const std::size_t state : {lengths + 1, lengths + 2})
    if (context.has(node, state) && !is_zero(context, node.inputs[state]))
      context.decline("first states other than zero are not ours");
  if (node.outputs.size() > 2 && context.is_read(node.outputs[2])) context.decline("its last cell is read");
}

// One part of a value along its first axis, with these dimensions.
ValueId part_of(graph::Graph& graph, const std::string& name, ValueId whole, std::int64_t at,
                const Shape& shape) {
  Shape begin, size = graph.shape(whole);
  for (int axis = 0; axis < size.rank(); ++axis) begin.append(0);
  begin[0] = at;
  const bool cut = size[0] != 1;
  size[0] = 1;
  const ValueId part = cut ? ops::slice(graph, name, whole, begin, size) : whole;
  return ops::reshape(graph, name + "/shaped", part, shape);
}

ValueId columns_of(graph::Graph& graph, const std::string& name, ValueId vector, std::int64_t begin,
                   std::int64_t end) {
  return ops::slice(graph, name, vector, {begin}, {end - begin});
}

// ONNX adds two biases, which are both trained. Where the reset gate stands between them they stay two.
ValueId join_biases(graph::Graph& graph, const std::string& name, const Layer& layer, ValueId own,
                    ValueId other) {
  if (layer.row.cell != RecurrentCell::gru) return ops::add(graph, name + "/bias", {own, other});
  const std::int64_t gates = 2 * layer.hidden, all = 3 * layer.hidden;
  const auto columns = [&](ValueId vector, std::int64_t begin, std::int64_t end) {
    return columns_of(graph, name + "/part_of_bias", vector, begin, end);
  };
  const ValueId of_gates =
      ops::add(graph, name + "/bias_of_gates", {columns(own, 0, gates), columns(other, 0, gates)});
  return ops::concat(graph, name + "/bias", {of_gates, columns(own, gates, all), columns(other, gates, all)},
                     0);
}

// The weights of a pattern: four for each direction, in our order of gates.
Direction direction_of_pattern(ImportContext& context, const onnx::Node& node, const Layer& layer,
                               std::int64_t direction) {
  const auto first = static_cast<std::size_t>(4 + 4 * direction);
  const std::int64_t rows = layer.rows();
  const std::string name = fmt::format("{}/{}", context.name(node), direction);
  return {context.state(node, first, {rows, layer.inputs}),
          context.state(node, first + 1, {rows, layer.hidden}),
          join_biases(context.graph(), name, layer, context.state(node, first + 2, {rows}),
                      context.state(node, first + 3, {rows}))};
}

// The gates of a weight or bias that the file computes are put into our order by ops; `first`: their first
// row.
ValueId gates_in_order(graph::Graph& graph, const std::string& name, ValueId src, std::int64_t first,
                       const Layer& layer) {
  std::vector<ValueId> parts(layer.row.blocks.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shape begin, size = graph.shape(src);
    for (int axis = 0; axis < size.rank(); ++axis) begin.append(0);
    begin[0] = first + static_cast<std::int64_t>(i) * layer.hidden;
    size[0] = layer.hidden;
    parts[layer.row.blocks[i]] = ops::slice(graph, name, src, begin, size);
  }
  return parts.size() == 1 ? parts[0] : ops::concat(graph, name + "/gates", std::move(parts), 0);
}

ValueId computed_bias(ImportContext& context, const onnx::Node& node, const Layer& layer,
                      std::int64_t direction) {
  graph::Graph& graph = context.graph();
  const std::string name = fmt::format("{}/{}", context.name(node), direction);
  const ValueId both =
      part_of(graph, name + "/biases", context.tensor(node, 3), direction, {2 * layer.rows()});
  return join_biases(graph, name, layer, gates_in_order(graph, name + "/own_bias", both, 0, layer),
                     gates_in_order(graph, name + "/recurrent_bias", both, layer.rows(), layer));
}

ValueId bias_of_file(ImportContext& context, const onnx::Node& node, const Layer& layer,
                     std::int64_t direction) {
  graph::Graph& graph = context.graph();
  const std::int64_t rows = layer.rows();
  const std::string name = fmt::format("{}/{}", context.name(node), direction);
  if (!context.has(node, 3)) return ops::fill(graph, name + "/bias", {{rows}, DType::f32}, 0);
  if (!(context.shape(node, 3) == Shape{layer.directions, 2 * rows}))
    context.decline("its bias is {}", context.shape(node, 3).to_string());
  if (!context.is_state(node, 3)) return computed_bias(context, node, layer, direction);
  const Arrangement order = gates_of_ours(layer.row);
  if (context.is_own_file() && layer.directions == 1) {
    const auto numbers = context.known().numbers(node.inputs[3]);
    const auto second = static_cast<std::ptrdiff_t>(rows);
    if (numbers == nullptr ||
        std::all_of(numbers->begin() + second, numbers->end(), [](double number) { return number == 0; }))
      return context.half_state(node, 3, {rows}, first_biases(layer.row));
  }
  const ValueId both = context.arranged_state(
      node, 3, {layer.directions * 2, rows}, of_parts(order, static_cast<std::size_t>(2 * layer.directions)));
  return join_biases(graph, name, layer, part_of(graph, name + "/own_bias", both, 2 * direction, {rows}),
                     part_of(graph, name + "/recurrent_bias", both, 2 * direction + 1, {rows}));
}

// The weights as ONNX has them: those of both directions in one tensor, gates in ONNX's order.
Direction direction_of_file(ImportContext& context, const onnx::Node& node, const Layer& layer,
                            std::int64_t direction) {
  const Arrangement order = gates_of_ours(layer.row);
  const auto weight = [&](std::size_t input, std::int64_t columns) {
    const Shape matrix{layer.rows(), columns};
    const std::string name = fmt::format("{}/{}/weight", context.name(node), direction);
    if (!context.is_state(node, input)) {
      const ValueId own = part_of(context.graph(), name, context.tensor(node, input), direction, matrix);
      return gates_in_order(context.graph(), name, own, 0, layer);
    }
    if (layer.directions == 1) return context.arranged_state(node, input, matrix, order);
    const ValueId both = context.arranged_state(node, input, {2, matrix[0], columns}, of_parts(order, 2));
    return part_of(context.graph(), name, both, direction, matrix);
  };
  return {weight(1, layer.inputs), weight(2, layer.hidden), bias_of_file(context, node, layer, direction)};
}

Layer read_layer(ImportContext& context, const onnx::Node& node, RecurrentCell cell, const Shape& x) {
  const bool of_pattern = node.domain == kOwnDomain;
  const std::string direction = node.text("direction", "forward");
  Layer layer{.row = row_of(cell)};
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.reversed = direction == "reverse";
  layer.gates = ops::gates_of(cell);
  const std::size_t first = of_pattern ? 4 : 1;
  const Shape weight = context.shape(node, first), recurrent = context.shape(node, first + 1);
  const int rank = of_pattern ? 2 : 3;
  if (x.rank() != 3 || weight.rank() != rank || recurrent.rank() != rank ||
      (!of_pattern && (weight[0] != layer.directions || recurrent[0] != layer.directions)))
    context.decline("input is {}, weight {}: wants (T, N, I) and a weight for each direction", x.to_string(),
                    weight.to_string());
  layer.hidden = recurrent[rank - 1];
  layer.inputs = weight[rank - 1];
  context.want_elements({x[0], x[1], layer.directions, layer.rows()});
  if (2.0 * static_cast<double>(x[0] * x[1] * layer.directions) * static_cast<double>(layer.rows()) *
          static_cast<double>(x[2] + layer.hidden) >
      static_cast<double>(kMaxFlops))
    context.decline("it has more than {} flops", kMaxFlops);
  return layer;
}

// Steps from the last to the first.
ValueId turned(graph::Graph& graph, const std::string& name, ValueId src) {
  constexpr std::int64_t kMostSteps = 256;
  const Shape shape = graph.shape(src);
  if (shape[0] > kMostSteps) ImportContext::decline("it runs backwards over more than {} steps", kMostSteps);
  std::vector<ValueId> steps;
  for (std::int64_t step = shape[0]; step-- > 0;)
    steps.push_back(ops::slice(graph, name, src, {step, 0, 0}, {1, shape[1], shape[2]}));
  return steps.size() == 1 ? steps[0] : ops::concat(graph, name + "/steps", std::move(steps), 0);
}

// The last states (directions, N, H), where they are read.
void keep_last(ImportContext& context, const onnx::Node& node, const std::vector<ValueId>& lasts) {
  if (node.outputs.size() < 2 || node.outputs[1].empty() || !context.is_read(node.outputs[1])) return;
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node) + "/last";
  std::vector<ValueId> states;
  for (const ValueId last : lasts) {
    const Shape shape = graph.shape(last);
    states.push_back(ops::slice(graph, name, last, {shape[0] - 1, 0, 0}, {1, shape[1], shape[2]}));
  }
  context.set_value(node.outputs[1],
                    states.size() == 1 ? states[0] : ops::concat(graph, name + "_of_both", states, 0));
}

template <RecurrentCell cell>
ValueId import_recurrent(ImportContext& context, const onnx::Node& node) {
  want_plain(context, node, cell);
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const ValueId src = context.tensor(node, 0);
  const Shape x = graph.shape(src);
  const Layer layer = read_layer(context, node, cell, x);
  std::vector<ValueId> runs, made;
  for (std::int64_t direction = 0; direction < layer.directions; ++direction) {
    const bool backwards = layer.reversed || direction == 1;
    const Direction own = node.domain == kOwnDomain ? direction_of_pattern(context, node, layer, direction)
                                                    : direction_of_file(context, node, layer, direction);
    runs.push_back(ops::recurrent(
        graph, backwards ? name + "/backwards" : name,
        {backwards ? turned(graph, name + "/turned", src) : src, own.weight, own.recurrent_weight, own.bias},
        {cell, context.training()}));
    made.push_back(backwards ? turned(graph, name + "/turned_back", runs.back()) : runs.back());
  }
  keep_last(context, node, runs);
  const onnx::Node* next = node.outputs.empty() ? nullptr : context.sole_reader(node.outputs[0]);
  if (layer.directions == 1 && next != nullptr && next->type == "Squeeze" &&
      context.squeezed_axes(*next) == std::vector<std::int64_t>{1}) {
    context.fold(*next, made[0]);
    return made[0];
  }
  std::vector<ValueId> parts;
  for (const ValueId one : made)
    parts.push_back(ops::reshape(graph, name + "/directions", one, {x[0], 1, x[1], layer.hidden}));
  return parts.size() == 1 ? parts[0] : ops::concat(graph, name + "/both", std::move(parts), 1);
}

}  // namespace

std::vector<ImportRow> recurrent_import_rows() {
  return {{"RNN", import_recurrent<RecurrentCell::rnn>},
          {"LSTM", import_recurrent<RecurrentCell::lstm>},
          {"GRU", import_recurrent<RecurrentCell::gru>}};
}

}  // namespace trainyard::interchange
