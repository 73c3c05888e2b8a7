#include "cli/graph_source.h"

#include <filesystem>

#include "cli/option_checks.h"
#include "cli/parameter_options.h"
#include "cli/run_options.h"
#include "exchange/from_graph.h"

namespace trainyard::cli {

void add_graph_options(CLI::App& command, GraphOptions& options, bool with_step) {
  command.add_option("--batch", options.batch, "Images a step; of an ONNX file where it leaves that open")
      ->transform(within("batch"))
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
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
  return exchange::format_of(source) || std::filesystem::exists(source);
}

networks::ModelOptions model_options(const std::string& network, const GraphOptions& options) {
  return {.network = network,
          .batch = options.batch,
          .classes = options.classes,
          .parameters = options.parameters};
}

exchange::ExchangeGraph graph_of(const std::string& source, const GraphOptions& options) {
  want_one_of("--step", options.step, {"forward", "training"});
  if (is_graph_file(source)) return exchange::read_graph_file(source, {.batch = options.batch}).graph;
  networks::Model model = networks::build_model(model_options(source, options));
  if (options.step == "training") networks::add_training_step(model, {});
  return exchange::from_graph(model.graph, source);
}

}  // namespace trainyard::cli
