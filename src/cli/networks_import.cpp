#include "base/json.h"
#include "cli/networks.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/run_options.h"
#include "cli/text_table.h"

namespace trainyard::cli {

void add_graph_options(Command& command, GraphOptions& options, bool with_step) {
  command.add_option("--batch", options.batch, "Images a step; of an ONNX file where it leaves that open")
      ->transform(within("batch"))
      ->capture_default_str()
      ->check(in_range(1, std::int64_t{1} << 24))
      ->type_name("N");
  command.add_option("--classes", options.classes, "Classes of a network (default: its own)")
      ->transform(within("classes"))
      ->type_name("N");
  if (with_step)
    command
        .add_option("--step", options.step, "Of a network its pass 'forward', or the whole 'training' step")
        ->capture_default_str()
        ->type_name("WHAT");
  add_parameter_options(command, options.parameters);
}

bool is_graph_file(const std::string& source) {
  return interchange::format_of(source) || std::filesystem::exists(source);
}

networks::ModelOptions model_options(const std::string& network, const GraphOptions& options) {
  return {.network = network,
          .batch = options.batch,
          .classes = options.classes,
          .parameters = options.parameters};
}

interchange::ExchangeGraph graph_of(const std::string& source, const GraphOptions& options) {
  want_one_of("step", options.step, {"forward", "training"});
  if (is_graph_file(source)) return interchange::read_graph_file(source, {.batch = options.batch}).graph;
  networks::Model model = networks::build_model(model_options(source, options));
  if (options.step == "training") networks::add_training_step(model, {});
  return interchange::from_graph(model.graph, source);
}

namespace {

struct ImportOptions {
  std::filesystem::path file;
  std::int64_t batch = 1;
  bool json = false;
};

struct Imported {
  interchange::GraphFile file;
  interchange::GraphTotals totals;
  std::map<std::string, std::int64_t> types;
  interchange::TrainingForm training;
};

Imported import_file(const ImportOptions& options) {
  Imported result{.file = interchange::read_graph_file(options.file, {.batch = options.batch})};
  result.totals = interchange::totals_of(result.file.graph);
  for (const interchange::OpNode& op : result.file.graph.nodes) ++result.types[op.type];
  if (result.file.network)
    result.training = interchange::training_form(*result.file.network);
  else
    result.training.obstacle = fmt::format("a {} file says too little for that", name(result.file.format));
  return result;
}

// Nodes that no op of ours stands for.
std::int64_t foreign_ops(const interchange::OnnxNetwork& network) {
  std::int64_t nodes = 0;
  for (const interchange::Obstacle& obstacle : network.obstacles) nodes += obstacle.nodes;
  return nodes;
}

void print_import_json(const ImportOptions& options, const Imported& imported) {
  Json obstacles = Json::array();
  if (imported.file.network)
    for (const interchange::Obstacle& obstacle : imported.file.network->obstacles)
      obstacles.push_back({{"op", obstacle.type},
                           {"nodes", obstacle.nodes},
                           {"reason", obstacle.reason},
                           {"first_node", obstacle.first_node}});
  Json coverage = Json::array();
  if (imported.file.network)
    for (const interchange::Coverage& row : imported.file.network->coverage)
      coverage.push_back(
          {{"op", row.type}, {"nodes", row.nodes}, {"becomes", row.becomes}, {"ours", row.ours}});
  const interchange::GraphTotals& totals = imported.totals;
  Json json{{"file", options.file.string()},
            {"format", name(imported.file.format)},
            {"graph", imported.file.graph.name},
            {"ops", totals.ops},
            {"edges", totals.edges},
            {"control_edges", totals.control_edges},
            {"ops_of_unknown_shape", totals.unknown_shapes},
            {"parameters", totals.parameters},
            {"flops", totals.flops},
            {"elementwise_flops", totals.elementwise_flops},
            {"bytes_moved", totals.bytes_moved},
            {"op_types", imported.types},
            {"trainable", imported.training.obstacle.empty()},
            {"obstacle", imported.training.obstacle},
            {"obstacles", obstacles}};
  if (imported.file.network) {
    const interchange::OnnxNetwork& network = *imported.file.network;
    json["foreign_ops"] = foreign_ops(network);
    json["recognised"] = network.recognised;
    json["coverage"] = coverage;
    json["weights_in_file"] = network.numbers_in_file;
    json["weights_left_out"] = network.numbers_left_out;
  }
  if (imported.training.obstacle.empty()) {
    json["training_flops"] = imported.training.flops;
    json["saved_bytes"] = imported.training.saved_bytes;
  }
  fmt::print("{}\n", json_text(json, 2));
}

// Says what became of the nodes of an ONNX file, and whence its weights are.
void print_coverage(const interchange::OnnxNetwork& network, std::int64_t ops) {
  const auto line = [](const char* what, const std::string& value) {
    fmt::print("{:<20} {}\n", what, value);
  };
  line("coverage", fmt::format("{} of {} ops are ours", ops - foreign_ops(network), ops));
  std::string recognised;
  for (const auto& [what, count] : network.recognised)
    recognised += fmt::format("{}{} {}", recognised.empty() ? "" : ", ", count, what);
  if (!recognised.empty()) line("recognised", recognised);
  line("weights", network.numbers_left_out == 0
                      ? fmt::format("{} numbers in the file", network.numbers_in_file)
                      : fmt::format("{} numbers in the file, {} left out: those start from random numbers",
                                    network.numbers_in_file, network.numbers_left_out));
}

// What became of the nodes by their types; then why some are not ours, and which of them comes first.
void print_tables(const interchange::OnnxNetwork& network) {
  TextTable coverage({"op", "nodes", "becomes"});
  for (const interchange::Coverage& row : network.coverage)
    coverage.add({row.type, fmt::format("{}", row.nodes), row.ours ? row.becomes : "not ours"});
  if (!network.coverage.empty()) fmt::print("\n{}", coverage.text());
  if (network.obstacles.empty()) return;
  TextTable obstacles({"op", "nodes", "first", "why"});
  for (const interchange::Obstacle& obstacle : network.obstacles)
    obstacles.add({obstacle.type, fmt::format("{}", obstacle.nodes), obstacle.first_node, obstacle.reason});
  fmt::print("\n{}", obstacles.text());
}

void print_import(const ImportOptions& options, const Imported& imported) {
  const auto line = [](const char* what, const std::string& value) {
    fmt::print("{:<20} {}\n", what, value);
  };
  const interchange::GraphTotals& totals = imported.totals;
  line("file", fmt::format("{}, {}, graph '{}'", options.file.string(), name(imported.file.format),
                           imported.file.graph.name));
  line("ops",
       fmt::format("{}, {} edges of data, {} of control", totals.ops, totals.edges, totals.control_edges));
  if (totals.unknown_shapes > 0)
    line("unknown shapes", fmt::format("{} ops: nothing of them is counted", totals.unknown_shapes));
  line("parameters", fmt::format("{}", totals.parameters));
  line("flops",
       fmt::format("{}, {} element by element, {} moved", format_flops(static_cast<double>(totals.flops)),
                   format_flops(static_cast<double>(totals.elementwise_flops)),
                   format_bytes(totals.bytes_moved)));
  std::string types;
  for (const auto& [type, count] : imported.types)
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, type);
  line("op types", types);
  if (imported.file.network) print_coverage(*imported.file.network, totals.ops);
  if (imported.training.obstacle.empty())
    line("training", fmt::format("possible: {} a step, {} saved for the backward pass",
                                 format_flops(static_cast<double>(imported.training.flops)),
                                 format_bytes(imported.training.saved_bytes)));
  else
    line("training", "not possible: " + imported.training.obstacle);
  if (imported.file.network) print_tables(*imported.file.network);
}

}  // namespace

std::function<int()> declare_networks_import(Command& command) {
  const auto options = std::make_shared<ImportOptions>();
  command
      .add_option("file", options->file,
                  "ONNX (.onnx), TensorFlow GraphDef (.pb, .pbtxt) or Graphviz (.dot, .gv)")
      ->required()
      ->type_name("FILE");
  command.add_option("--batch", options->batch, "Of an ONNX file that leaves it open")
      ->transform(within("batch"))
      ->capture_default_str()
      ->check(in_range(1, std::int64_t{1} << 24))
      ->type_name("N");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Examples:\n"
      "  trainyard networks import lenet.onnx\n"
      "  trainyard networks import googlenet.dot --json");
  return [options] {
    const Imported imported = import_file(*options);
    if (options->json)
      print_import_json(*options, imported);
    else
      print_import(*options, imported);
    return 0;
  };
}

}  // namespace trainyard::cli
