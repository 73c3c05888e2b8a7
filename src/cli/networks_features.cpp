#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/text_table.h"
#include "cli/train.h"
#include "predict/graph_features/communities.h"
#include "predict/graph_features/graph_features.h"

namespace trainyard::cli {
namespace {

struct FeatureOptions {
  GraphOptions graph;
  std::string source, devices = "all";
  std::filesystem::path vocabulary;
  int groups = 0;  // 0: of the legacy form 100, else every op is one
  std::uint64_t seed = 42;
  bool legacy = false, json = false;
};

void print_features_json(const Json& json) { fmt::print("{}\n", json_text(json)); }

int run_legacy(const FeatureOptions& options, const interchange::ExchangeGraph& graph,
               const predict::OpVocabulary& vocabulary) {
  const predict::LegacyFeatures features =
      legacy_features(graph, vocabulary,
                      {.gpu_only = options.devices == "gpu",
                       .groups = options.groups == 0 ? 100 : options.groups,
                       .seed = options.seed});
  const auto groups = static_cast<std::size_t>(features.groups);
  Json rows = Json::array(), adjacency = Json::array();
  TextTable table({"group", "tensor sizes", "ops", "frequencies", "neighbours"});
  for (std::size_t i = 0; i < groups; ++i) {
    const double* row = &features.features[i * predict::LegacyFeatures::kWidth];
    const auto first = features.adjacency.begin() + static_cast<std::ptrdiff_t>(i * groups);
    const auto last = first + static_cast<std::ptrdiff_t>(groups);
    rows.push_back(std::vector<double>(row, row + predict::LegacyFeatures::kWidth));
    adjacency.push_back(std::vector<int>(first, last));
    table.add({fmt::format("{}", i), fmt::format("{:.0f}", row[0]), fmt::format("{:.0f}", row[1]),
               fmt::format("{:.6f}", row[2]), fmt::format("{}", std::count(first, last, 1))});
  }
  if (options.json) {
    print_features_json({{"graph", graph.name},
                         {"form", "legacy"},
                         {"ops", graph.nodes.size()},
                         {"kept_ops", features.kept_ops},
                         {"connected_ops", features.connected_ops},
                         {"unknown_ops", features.unknown_ops},
                         {"groups", features.groups},
                         {"features", rows},
                         {"adjacency", adjacency},
                         {"group_of_op", features.group_of_op}});
    return 0;
  }
  fmt::print("{}\n{} ops, {} kept, {} connected, {} of no known frequency, {} groups\n", table.text(),
             graph.nodes.size(), features.kept_ops, features.connected_ops, features.unknown_ops,
             features.groups);
  return 0;
}

Json to_json(const predict::OpFeatures& node) {
  Json types = Json::array();
  for (const auto& [type, count] : node.types) types.push_back({type, count});
  return {{"ops", node.ops},
          {"types", types},
          {"flops", node.flops},
          {"elementwise_flops", node.elementwise_flops},
          {"bytes_moved", node.bytes_moved},
          {"output_bytes", node.output_bytes},
          {"parameters", node.parameters},
          {"inputs", node.inputs},
          {"outputs", node.outputs}};
}

void print_feature_table(const interchange::ExchangeGraph& graph, const predict::GraphFeatures& features,
                         const predict::OpVocabulary& vocabulary, bool by_op) {
  TextTable table({by_op ? "op" : "segment", "flops", "bytes", "parameters", "in", "out", "types"});
  for (std::size_t i = 0; i < features.nodes.size(); ++i) {
    const predict::OpFeatures& node = features.nodes[i];
    std::string types;
    for (const auto& [type, count] : node.types) {
      types += (types.empty() ? "" : ", ") +
               (type == predict::OpVocabulary::kUnknownOp ? "(unknown)" : vocabulary.type(type));
      if (count > 1) types += fmt::format(" {}", count);
    }
    table.add({by_op ? graph.nodes[i].name : fmt::format("{}", i),
               format_flops(static_cast<double>(node.flops)), format_bytes(node.bytes_moved),
               fmt::format("{}", node.parameters), fmt::format("{}", node.inputs),
               fmt::format("{}", node.outputs), types});
  }
  fmt::print("{}\n{} ops, {} edges between {}\n", table.text(), graph.nodes.size(), features.edges.size(),
             by_op ? "them" : "segments");
}

int run_features(const FeatureOptions& options) {
  want_one_of("devices", options.devices, {"all", "gpu"});
  const interchange::ExchangeGraph graph = graph_of(options.source, options.graph);
  const predict::OpVocabulary vocabulary = read_vocabulary(options.vocabulary);
  if (options.legacy) return run_legacy(options, graph, vocabulary);
  if (options.devices != "all") fail(ErrorKind::usage, "--devices {}: only with --legacy", options.devices);
  predict::GraphFeatures features = graph_features(graph, vocabulary);
  const int groups = std::min(options.groups, static_cast<int>(graph.nodes.size()));
  if (groups > 0) features = grouped(features, predict::topological_segments(graph, groups), groups);
  if (!options.json) {
    print_feature_table(graph, features, vocabulary, groups == 0);
    return 0;
  }
  Json types = Json::array(), nodes = Json::array(), edges = Json::array();
  for (int number = 0; number < vocabulary.size(); ++number) types.push_back(vocabulary.type(number));
  for (const predict::OpFeatures& node : features.nodes) nodes.push_back(to_json(node));
  for (const predict::FeatureEdge& edge : features.edges)
    edges.push_back({{"from", edge.from}, {"to", edge.to}, {"bytes", edge.bytes}, {"control", edge.control}});
  print_features_json({{"graph", graph.name},
                       {"form", groups == 0 ? "ops" : "segments"},
                       {"ops", graph.nodes.size()},
                       {"vocabulary", types},
                       {"nodes", nodes},
                       {"edges", edges}});
  return 0;
}

}  // namespace

std::function<int()> declare_networks_features(Command& command) {
  const auto options = std::make_shared<FeatureOptions>();
  command.add_option("source", options->source, "Network, or file: .onnx, .pb, .pbtxt, .dot")
      ->required()
      ->type_name("NAME|FILE");
  command
      .add_option("--groups", options->groups,
                  "Join ops to so many segments of the topological order (default: each op alone)")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->type_name("K");
  command
      .add_option("--ops", options->vocabulary,
                  "Table of ops, from `networks stats --to` or GPUAlloc's (default: of all our networks' "
                  "training steps)")
      ->type_name("FILE");
  command.add_flag("--legacy", options->legacy,
                   "As Driple and GPUAlloc make them: 100 fluid communities, three numbers each");
  command
      .add_option("--devices", options->devices, "With --legacy: all ops, or those whose device says 'gpu'")
      ->capture_default_str()
      ->type_name("WHICH");
  command.add_option("--seed", options->seed, "Of communities")
      ->transform(within("seed"))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  add_graph_options(command, options->graph, true);
  command.footer(
      "Examples:\n"
      "  trainyard networks features resnet50 --step training --groups 20\n"
      "  trainyard networks features lenet.onnx --legacy --groups 4 --json");
  return [options, &command] {
    warn_of_idle_options(command, {{!options->legacy, {"--seed"}, "it is for --legacy"}});
    return run_features(*options);
  };
}

}  // namespace trainyard::cli
