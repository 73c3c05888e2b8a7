#include <filesystem>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "cli/exported_weights.h"
#include "cli/graph_source.h"
#include "cli/networks_commands.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "exchange/dot.h"
#include "exchange/from_graph.h"

namespace trainyard::cli {
namespace {

struct ExportOptions {
  GraphOptions graph;
  std::string name, weights = "none";
  std::filesystem::path to;
  std::uint64_t seed = 1;
  bool json = false;
};

void write_dot(const ExportOptions& options) {
  if (options.weights != "none") fail(ErrorKind::usage, "--weights: a drawing has none; --to FILE.onnx has");
  AtomicFile file(options.to);
  file.write(exchange::to_dot(graph_of(options.name, options.graph)));
  file.commit();
}

void write_onnx(const ExportOptions& options) {
  if (options.graph.step != "forward")
    fail(ErrorKind::usage, "--step {}: an ONNX file holds the forward pass", options.graph.step);
  if (is_graph_file(options.name))
    fail(ErrorKind::usage, "'{}': only networks of ours become ONNX files; a file can become .dot",
         options.name);
  const ExportedWeights weights =
      exported_weights(options.weights, options.seed, model_options(options.name, options.graph));
  const networks::Model model = networks::build_model(weights.model);
  exchange::export_onnx(model.graph, model.logits, {.name = options.name, .weights = weights.source},
                        options.to);
}

int run_export(const ExportOptions& options) {
  const std::optional<exchange::Format> format = exchange::format_of(options.to);
  if (!format || *format == exchange::Format::graph_def)
    fail(ErrorKind::usage, "--to '{}': the name ends with .onnx, .dot or .gv", options.to.string());
  if (*format == exchange::Format::dot)
    write_dot(options);
  else
    write_onnx(options);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(options.to));
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"network", options.name},
                                              {"file", options.to.string()},
                                              {"format", exchange::name(*format)},
                                              {"batch", options.graph.batch},
                                              {"weights", options.weights},
                                              {"bytes", bytes}}
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    fmt::print("{}: {} as {}, {}\n", options.to.string(), options.name, exchange::name(*format),
               format_bytes(bytes));
  return 0;
}

}  // namespace

std::function<int()> declare_networks_export(CLI::App& command) {
  const auto options = std::make_shared<ExportOptions>();
  command.add_option("name", options->name, "Network; for a drawing also a file of a graph")
      ->required()
      ->type_name("NAME");
  add_output_file(command, "--to", options->to, "File to write: .onnx, or .dot (or .gv) for Graphviz")
      ->required();
  command
      .add_option("--weights", options->weights,
                  "Weights in the file: none (they are inputs then), initial, or those of a checkpoint")
      ->capture_default_str()
      ->type_name("WHAT");
  command.add_option("--seed", options->seed, "Of initial weights")
      ->transform(within("seed"))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  add_graph_options(command, options->graph, true);
  command.footer(
      "Examples:\n"
      "  trainyard networks export lenet --to lenet.onnx --weights initial\n"
      "  trainyard networks export googlenet --to googlenet.dot");
  return [options, &command] {
    warn_of_idle_options(command,
                         {{options->weights != "initial", {"--seed"}, "it is for --weights initial"},
                          {is_graph_file(options->name), {"--classes"}, "the file says how many there are"}});
    return run_export(*options);
  };
}

}  // namespace trainyard::cli
