// This file writes recurrent layers over whole sequences.

#include "interchange/onnx_recurrent.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {
namespace {

using ops::RecurrentCell;

const std::array<CellRow, 3>& cell_rows() {
  static const std::array<CellRow, 3> rows{{{RecurrentCell::rnn, "RNN", {0}},
                                            {RecurrentCell::lstm, "LSTM", {0, 3, 1, 2}},
                                            {RecurrentCell::gru, "GRU", {1, 0, 2}}}};
  return rows;
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

bool is_state(const graph::Value& value) {
  return value.role == graph::Role::parameter || value.role == graph::Role::statistic;
}

// Puts blocks of rows of a value that ops make, each of so many, into this order, with zeros at the places
// where there is none; returns the name of (1, all rows, ...).
std::string export_blocks(ExportContext& context, const graph::Node& node, std::size_t input,
                          std::int64_t rows, const std::vector<std::optional<std::size_t>>& order) {
  const std::string what = fmt::format("{}/input_{}", node.name, input), src = context.input(node, input);
  const auto number = [&](const char* name, std::int64_t value) {
    return context.constant(node, fmt::format("input_{}_{}", input, name).c_str(), std::vector{value});
  };
  const std::string axis = number("axis", 0);
  std::vector<std::string> parts;
  for (const std::optional<std::size_t>& block : order) {
    if (!block) {
      parts.push_back(context.shared_constant(what + "_zeros", {rows},
                                              std::vector<float>(static_cast<std::size_t>(rows), 0.0f)));
      continue;
    }
    const auto first = static_cast<std::int64_t>(*block) * rows;
    const std::string name = fmt::format("{}_block_{}", what, *block),
                      bounds = fmt::format("block_{}", *block);
    context.add_part(name, "Slice",
                     {src, number((bounds + "_begin").c_str(), first),
                      number((bounds + "_end").c_str(), first + rows), axis},
                     name);
    parts.push_back(name);
  }
  context.add_part(what + "_blocks", "Concat", std::move(parts), what + "_blocks",
                   {attribute("axis", std::int64_t{0})});
  context.add_part(what + "_of_direction", "Unsqueeze", {what + "_blocks", axis}, what + "_of_direction");
  return what + "_of_direction";
}

// ONNX's two biases: our one in ONNX's order, then zeros, and of a GRU the block more.
std::vector<std::optional<std::size_t>> order_of_biases(const CellRow& row, bool has_more) {
  std::vector<std::optional<std::size_t>> order(row.blocks.begin(), row.blocks.end());
  order.resize(2 * row.blocks.size());
  if (has_more) order.back() = row.blocks.size();
  return order;
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
  const auto is_written = [&](std::size_t input) {
    return is_state(context.graph().value(node.inputs[input]));
  };
  const auto matrix = [&](std::size_t input, std::int64_t columns) {
    if (is_written(input)) return context.state(node.inputs[input], {1, rows, columns}, weights);
    return export_blocks(context, node, input, hidden, {row.blocks.begin(), row.blocks.end()});
  };
  const bool has_more = context.graph().shape(node.inputs[3])[0] > rows;
  const std::string weight_name = matrix(1, weight[1]), recurrent_name = matrix(2, hidden),
                    bias_name = is_written(3) && !has_more
                                    ? context.state(node.inputs[3], {1, 2 * rows}, bias)
                                    : export_blocks(context, node, 3, hidden, order_of_biases(row, has_more));
  context.add_part(node.name, row.type, {context.input(node, 0), weight_name, recurrent_name, bias_name},
                   with_direction, std::move(attributes));
  const std::string axes = context.constant(node, "axes", std::vector<std::int64_t>{1});
  context.add_part(node.name + "/one_direction", "Squeeze", {with_direction, axes},
                   context.name(node.outputs[0]));
}

}  // namespace

const CellRow& row_of(RecurrentCell cell) {
  for (const CellRow& row : cell_rows())
    if (row.cell == cell) return row;
  return cell_rows()[0];
}

const CellRow* find_cell_row(std::string_view type) {
  for (const CellRow& row : cell_rows())
    if (row.type == type) return &row;
  return nullptr;
}

std::vector<ExportRow> recurrent_export_rows() { return {{&ops::recurrent_op, export_recurrent}}; }

}  // namespace trainyard::interchange
