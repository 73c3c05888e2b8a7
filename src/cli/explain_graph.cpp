// `explain` of a graph that cannot be trained here: its forward pass op by op, as its file says it.

#include "base/json.h"
#include "base/text.h"
#include "cli/text_table.h"
#include "cli/train.h"

namespace trainyard::cli {
namespace {

std::string output_text(const interchange::OpNode& op) {
  return op.outputs.empty() ? "" : op.outputs[0].to_string();
}

// Returns why none of ours can be made of it, or what a training lacks.
std::string obstacle_of(const interchange::GraphFile& file) {
  if (!file.network) return fmt::format("a {} file says too little for that", name(file.format));
  if (file.network->obstacles.empty()) return training_form(*file.network).obstacle;
  const interchange::Obstacle& first = file.network->obstacles.front();
  return fmt::format("node '{}' ({}): {}", first.first_node, first.type, first.reason);
}

Json json_of(const run::RunOptions& options, const interchange::GraphFile& file,
             const interchange::GraphTotals& totals, const std::string& obstacle) {
  Json ops = Json::array();
  for (const interchange::OpNode& op : file.graph.nodes)
    ops.push_back({{"node", op.name},
                   {"op", op.type},
                   {"output", output_text(op)},
                   {"flops", op.flops},
                   {"elementwise_flops", op.elementwise_flops},
                   {"bytes_moved", op.bytes_moved},
                   {"parameters", op.parameters}});
  return {{"network", options.network},
          {"batch", options.batch},
          {"obstacle", obstacle},
          {"flops", totals.flops},
          {"elementwise_flops", totals.elementwise_flops},
          {"bytes_moved", totals.bytes_moved},
          {"parameters", totals.parameters},
          {"ops_of_unknown_shape", totals.unknown_shapes},
          {"ops", std::move(ops)}};
}

}  // namespace

void explain_graph(const run::RunOptions& options) {
  const interchange::GraphFile file =
      interchange::read_graph_file(options.network, {.batch = options.batch, .training = false});
  const interchange::GraphTotals totals = interchange::totals_of(file.graph);
  const std::string obstacle = obstacle_of(file);
  if (options.json) return fmt::print("{}\n", json_text(json_of(options, file, totals, obstacle)));
  TextTable table({"node", "op", "output", "flops", "element by element", "bytes"});
  for (const interchange::OpNode& op : file.graph.nodes)
    table.add({op.name, op.type, output_text(op), format_flops(static_cast<double>(op.flops)),
               format_flops(static_cast<double>(op.elementwise_flops)), format_bytes(op.bytes_moved)});
  fmt::print("{}\nin all {} flops, {} element by element, {} moved, {} parameters\n", table.text(),
             format_flops(static_cast<double>(totals.flops)),
             format_flops(static_cast<double>(totals.elementwise_flops)), format_bytes(totals.bytes_moved),
             totals.parameters);
  if (totals.unknown_shapes > 0)
    fmt::print("nothing of {} ops of unknown shape is counted\n", totals.unknown_shapes);
  fmt::print("cannot be trained: {}\n", obstacle);
}

}  // namespace trainyard::cli
