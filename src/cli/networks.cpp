#include "cli/networks.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/text_table.h"
#include "cli/train.h"
#include "graph/autodiff.h"
#include "networks/layers/described_network.h"

namespace trainyard::cli {

namespace {

using networks::NetworkInfo;

// All of one image; saved activations are what the backward pass reads of the forward pass.
struct Summary {
  NetworkInfo info;
  std::int64_t parameters = 0, parameter_tensors = 0;
  std::int64_t forward_flops = 0, training_flops = 0;
  std::int64_t saved_bytes = 0;
  std::map<std::string, int> forward_ops;
};

Summary summarise(const NetworkInfo& info) {
  networks::Model model = networks::build_model({.network = info.name, .batch = 1});
  networks::add_training_step(model, {});
  Summary summary;
  summary.info = info;
  summary.parameters = graph::parameter_count(model.graph);
  summary.parameter_tensors = static_cast<std::int64_t>(model.gradients.size());
  summary.forward_flops = graph::total_cost(model.graph, graph::Phase::forward).flops;
  summary.training_flops = graph::total_cost(model.graph).flops;
  summary.saved_bytes = graph::total_bytes_saved(model.graph);
  for (const graph::Node& node : model.graph.nodes())
    if (node.phase == graph::Phase::forward) ++summary.forward_ops[node.op->name];
  return summary;
}

double giga(std::int64_t flops) { return static_cast<double>(flops) / 1e9; }

Json to_json(const Summary& summary) {
  const NetworkInfo& info = summary.info;
  return {{"name", info.name},
          {"family", info.family},
          {"description", info.description},
          {"input", std::vector<std::int64_t>(info.input.begin(), info.input.end())},
          {"classes", info.classes},
          {"preprocess", info.preprocess},
          {"parameters", summary.parameters},
          {"parameter_tensors", summary.parameter_tensors},
          {"forward_flops_per_image", summary.forward_flops},
          {"training_flops_per_image", summary.training_flops},
          {"saved_bytes_per_image", summary.saved_bytes},
          {"forward_ops", summary.forward_ops}};
}

void print_table(const std::vector<Summary>& all) {
  const auto row = [](const auto&... columns) {
    fmt::print("{:<20} {:>9} {:>7} {:>11} {:>9} {:>9}  {}\n", columns...);
  };
  row("", "", "", "", "forward", "training", "");
  row("name", "input", "classes", "parameters", "GFLOP", "GFLOP", "description");
  for (const Summary& summary : all)
    row(summary.info.name, summary.info.input.to_string(), summary.info.classes, summary.parameters,
        fmt::format("{:.3f}", giga(summary.forward_flops)),
        fmt::format("{:.3f}", giga(summary.training_flops)), summary.info.description);
  fmt::print("\nGFLOP of one image: two for each multiply-add of convolutions and dense layers.\n");
}

void print_details(const Summary& summary) {
  const NetworkInfo& info = summary.info;
  const auto line = [](const char* what, const std::string& value) {
    fmt::print("{:<20} {}\n", what, value);
  };
  line("network", info.name);
  line("description", info.description);
  line("family", info.family);
  if (info.reads_sequences()) {
    line("input", fmt::format("sequences of {}, vocabulary {}", info.input.to_string(), info.classes));
  } else {
    line("input", fmt::format("{}, preprocessing '{}'", info.input.to_string(), info.preprocess));
    line("classes", fmt::format("{}", info.classes));
  }
  line("parameters", fmt::format("{} in {} tensors", summary.parameters, summary.parameter_tensors));
  line("forward", fmt::format("{:.4f} GFLOP an image", giga(summary.forward_flops)));
  line("training", fmt::format("{:.4f} GFLOP an image", giga(summary.training_flops)));
  line("saved activations", fmt::format("{} an image, before fusion", format_bytes(summary.saved_bytes)));
  std::string ops;
  for (const auto& [op, count] : summary.forward_ops)
    ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", count, op);
  line("forward ops", ops);
}

int run(const std::string& name, bool json) {
  if (!name.empty()) {
    const Summary summary = summarise(networks::find_network(name));
    if (json)
      fmt::print("{}\n", json_text(to_json(summary), 2));
    else
      print_details(summary);
    return 0;
  }
  std::vector<Summary> all;
  for (const NetworkInfo& info : networks::all_networks()) all.push_back(summarise(info));
  if (!json) {
    print_table(all);
    return 0;
  }
  Json rows = Json::array();
  for (const Summary& summary : all) rows.push_back(to_json(summary));
  fmt::print("{}\n", json_text(Json{{"networks", rows}}, 2));
  return 0;
}

}  // namespace

std::function<int()> declare_networks(Command& command) {
  struct Options {
    std::string name;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  command.description("List the networks, describe one, or exchange graphs with others");
  command.add_option("name", options->name, "Network to describe; without it all are listed");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Examples:\n"
      "  trainyard networks\n"
      "  trainyard networks resnet50 --json\n"
      "  trainyard networks examples/networks/resnet.yaml");
  struct Below {
    Command* command;
    std::function<int()> run;
  };
  std::vector<Below> below;
  const auto add = [&](const char* name, const char* summary, std::function<int()> (*declare)(Command&)) {
    Command* subcommand = command.add_subcommand(name, summary);
    below.push_back({subcommand, declare(*subcommand)});
  };
  add("export", "Write a network as an ONNX file, or its graph for Graphviz", declare_networks_export);
  add("import", "Say what a file of a graph holds, and what keeps it from being trained",
      declare_networks_import);
  add("schema", "The JSON schema of YAML files of layers, for editors", declare_networks_schema);
  add("features", "What predictors see of a graph", declare_networks_features);
  add("stats", "Count the ops of networks and files", declare_networks_stats);
  return [options, below] {
    for (const Below& one : below)
      if (one.command->parsed()) return one.run();
    return run(options->name, options->json);
  };
}

std::function<int()> declare_networks_schema(Command& command) {
  const auto to = std::make_shared<std::filesystem::path>();
  add_output_file(command, "--to", *to, "File to write, in place of standard output");
  command.footer(
      "A comment in the first line of a network's file makes many editors complete and check it:\n"
      "  # yaml-language-server: $schema=network.schema.json\n\n"
      "Examples:\n"
      "  trainyard networks schema\n"
      "  trainyard networks schema --to network.schema.json");
  return [to] {
    const std::string text = json_text(networks::layers::schema(), 2) + "\n";
    if (to->empty()) {
      fmt::print("{}", text);
      return 0;
    }
    AtomicFile file(*to);
    file.write(text);
    file.commit();
    fmt::print("{}\n", to->string());
    return 0;
  };
}

namespace {

struct StatsOptions {
  GraphOptions graph;
  std::vector<std::string> sources;
  std::filesystem::path to;
  bool json = false;
};

int run_stats(const StatsOptions& options) {
  const predict::OpVocabulary corpus = count_ops(options.sources, options.graph);
  if (!options.to.empty()) {
    AtomicFile file(options.to);
    file.write(corpus.to_csv());
    file.commit();
  }
  Json ops = Json::array();
  TextTable table({"op", "count", "share"});
  for (int number = 1; number < corpus.size(); ++number) {
    const std::string& type = corpus.type(number);
    ops.push_back({{"op", type}, {"count", corpus.count(type)}, {"share", corpus.frequency(type)}});
    table.add({type, fmt::format("{}", corpus.count(type)), fmt::format("{:.6f}", corpus.frequency(type))});
  }
  if (options.json)
    fmt::print("{}\n", json_text(Json{{"total", corpus.total()}, {"ops", ops}}, 2));
  else
    fmt::print("{}\n{} ops of {} types\n", table.text(), corpus.total(), corpus.size() - 1);
  return 0;
}

}  // namespace

std::function<int()> declare_networks_stats(Command& command) {
  const auto options = std::make_shared<StatsOptions>();
  command.add_option("sources", options->sources, "Networks and files of graphs (default: all our networks)")
      ->type_name("NAME|FILE");
  add_output_file(command, "--to", options->to,
                  "Also write the table, as CSV, for `networks features --ops`");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  add_graph_options(command, options->graph, true);
  command.footer(
      "Examples:\n"
      "  trainyard networks stats --step training --to ops.csv\n"
      "  trainyard networks stats vgg11 resnet50 lenet.onnx --json");
  return [options] { return run_stats(*options); };
}

}  // namespace trainyard::cli
