#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/networks_commands.h"
#include "cli/op_corpus.h"
#include "cli/outputs.h"
#include "cli/text_table.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

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
    fmt::print("{}\n", Json{{"total", corpus.total()}, {"ops", ops}}.dump(2, ' ', false,
                                                                          Json::error_handler_t::replace));
  else
    fmt::print("{}\n{} ops of {} types\n", table.text(), corpus.total(), corpus.size() - 1);
  return 0;
}

}  // namespace

std::function<int()> declare_networks_stats(CLI::App& command) {
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
