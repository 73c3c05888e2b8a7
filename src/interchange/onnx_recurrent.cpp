// This file maps recurrent layers over whole sequences.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;
using ops::RecurrentCell;

struct CellRow {
  RecurrentCell cell;
  const char* type;
  // Lists the block of ours at each place of ONNX's: i, f, g, o -> i, o, f, g and r, z, n -> z, r, n.
  std::vector<std::size_t> blocks;
};

const CellRow& row_of(RecurrentCell cell) {
  static const CellRow rows[] = {{RecurrentCell::rnn, "RNN", {0}},
                                 {RecurrentCell::lstm, "LSTM", {0, 3, 1, 2}},
                                 {RecurrentCell::gru, "GRU", {1, 0, 2}}};
  for (const CellRow& row : rows)
    if (row.cell == cell) return row;
  return rows[0];
}

// Arranges the blocks in ONNX's order of gates, and appends `zero_blocks` gates of zeros.
ExportContext::Arrange reorder(std::vector<std::size_t> blocks, std::size_t zero_blocks) {
  return [blocks = std::move(blocks), zero_blocks](const std::vector<std::byte>& content) {
    const std::size_t block = content.size() / blocks.size();
    std::vector<std::byte> out((blocks.size() + zero_blocks) * block);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      std::memcpy(out.data() + i * block, content.data() + blocks[i] * block, block);
    return out;
  };
}

void export_recurrent(ExportContext& context, const graph::Node& node) {
  const CellRow& row = row_of(node.attrs<ops::RecurrentAttrs>().cell);
  const Shape &weight = context.graph().shape(node.inputs[1]),
              &recurrent = context.graph().shape(node.inputs[2]);
  const std::int64_t hidden = recurrent[1], rows = weight[0];
  const std::string with_direction = node.name + "/directions";
  std::vector<onnx::Attribute> attributes{attribute("hidden_size", hidden)};
  if (row.cell == RecurrentCell::gru) attributes.push_back(attribute("linear_before_reset", std::int64_t{1}));
  const auto weights = reorder(row.blocks, 0), bias = reorder(row.blocks, row.blocks.size());
  const std::string weight_name = context.state(node.inputs[1], {1, rows, weight[1]}, weights),
                    recurrent_name = context.state(node.inputs[2], {1, rows, hidden}, weights),
                    bias_name = context.state(node.inputs[3], {1, 2 * rows}, bias);
  context.add_part(node.name, row.type, {context.input(node, 0), weight_name, recurrent_name, bias_name},
                   with_direction, std::move(attributes));
  const std::string axes = context.constant(node, "axes", std::vector<std::int64_t>{1});
  context.add_part(node.name + "/one_direction", "Squeeze", {with_direction, axes},
                   context.name(node.outputs[0]));
}

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

// ONNX keeps two biases; ours is their sum. The new state of a GRU takes the second one into its product with
// the reset gate, where ours has none.
Arrangement sum_of_biases(const CellRow& row) {
  const Arrangement gates = gates_of_ours(row);
  return {
      "summed " + gates.name, [gates, cell = row.cell](std::vector<double> from) {
        const std::size_t half = from.size() / 2, block = half / 3;
        if (cell == RecurrentCell::gru && std::any_of(from.end() - static_cast<std::ptrdiff_t>(block),
                                                      from.end(), [](double number) { return number != 0; }))
          ImportContext::decline("its reset gate has a second bias, which ours has not");
        for (std::size_t i = 0; i < half; ++i) from[i] += from[half + i];
        from.resize(half);
        return gates.apply(std::move(from));
      }};
}

void want_plain(ImportContext& context, const onnx::Node& node, RecurrentCell cell) {
  if (node.text("direction", "forward") != "forward") context.decline("it runs not only forward");
  if (node.find("activations") != nullptr || node.find("clip") != nullptr || node.integer("layout", 0) != 0)
    context.decline("activations, clip or layout is not the usual one");
  if (cell == RecurrentCell::gru && node.integer("linear_before_reset", 0) == 0)
    context.decline("its reset comes before the matrix product; ours after (linear_before_reset=1)");
  for (std::size_t i = 4; i < 8; ++i)
    if (context.has(node, i)) context.decline("lengths, first states and peepholes are not ours");
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty() && context.is_read(node.outputs[i]))
      context.decline("its last state is read");
}

template <RecurrentCell cell>
ValueId import_recurrent(ImportContext& context, const onnx::Node& node) {
  want_plain(context, node, cell);
  const ValueId src = context.tensor(node, 0);
  const Shape x = context.graph().shape(src);
  const std::int64_t gates = ops::gates_of(cell);
  const Shape weight = context.shape(node, 1), recurrent = context.shape(node, 2);
  if (x.rank() != 3 || weight.rank() != 3 || recurrent.rank() != 3 || weight[0] != 1 || recurrent[0] != 1)
    context.decline("input is {}, weight {}: wants (T, N, I) and one direction", x.to_string(),
                    weight.to_string());
  const std::int64_t hidden = recurrent[2];
  context.want_elements({x[0], x[1], gates, hidden});
  if (2.0 * static_cast<double>(x[0] * x[1]) * static_cast<double>(gates * hidden) *
          static_cast<double>(x[2] + hidden) >
      static_cast<double>(kMaxFlops))
    context.decline("it has more than {} flops", kMaxFlops);
  // ONNX keeps two biases whose sum counts; ours is one.
  if (!context.has(node, 3) || !(context.shape(node, 3) == Shape{1, 2 * gates * hidden}))
    context.decline("it has no bias");
  const CellRow& row = row_of(cell);
  const Arrangement order = gates_of_ours(row);
  const ops::RecurrentInputs inputs{src, context.arranged_state(node, 1, {gates * hidden, x[2]}, order),
                                    context.arranged_state(node, 2, {gates * hidden, hidden}, order),
                                    context.half_state(node, 3, {gates * hidden}, sum_of_biases(row))};
  const ValueId made =
      ops::recurrent(context.graph(), context.name(node), inputs, {cell, context.training()});
  const onnx::Node* next = node.outputs.empty() ? nullptr : context.sole_reader(node.outputs[0]);
  if (next != nullptr && next->type == "Squeeze" &&
      context.squeezed_axes(*next) == std::vector<std::int64_t>{1}) {
    context.fold(*next, made);
    return made;
  }
  return ops::reshape(context.graph(), context.name(node) + "/directions", made, {x[0], 1, x[1], hidden});
}

}  // namespace

std::vector<ImportRow> recurrent_import_rows() {
  return {{"RNN", import_recurrent<RecurrentCell::rnn>},
          {"LSTM", import_recurrent<RecurrentCell::lstm>},
          {"GRU", import_recurrent<RecurrentCell::gru>}};
}

std::vector<ExportRow> recurrent_export_rows() { return {{&ops::recurrent_op, export_recurrent}}; }

}  // namespace trainyard::interchange
