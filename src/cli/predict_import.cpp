#include "cli/predict_import.h"

#include <algorithm>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/networks_import.h"
#include "cli/outputs.h"
#include "cli/predict.h"
#include "cli/text_table.h"
#include "predict/gnn/driple.h"
#include "predict/gnn/state_dict.h"

namespace trainyard::cli {
namespace {

struct PredictImportOptions {
  std::filesystem::path file, output;
  bool json = false;
};

int import_model(const PredictImportOptions& options) {
  const predict::GnnModel model =
      predict::import_driple(predict::read_state_dict(options.file), options.file.string());
  predict::save_model(options.output, model);
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"model", options.output.string()},
                                              {"kind", "driple"},
                                              {"tensors", model.parameters.size()},
                                              {"parameters", model.parameter_count()}}
                           .dump());
  else
    fmt::print("{} tensors, {} parameters of Driple's network: {}\n", model.parameters.size(),
               model.parameter_count(), options.output.string());
  return 0;
}

}  // namespace

int run_imported(const predict::ModelContainer& container, const ImportedRun& run) {
  const std::string who = run.model.string();
  const predict::GnnModel model = predict::parse_model(predict::parse_model_file(container, who), who);
  const interchange::ExchangeGraph graph =
      graph_of(run.network, {.batch = run.batch, .classes = run.classes, .step = "training"});
  const predict::DriplePrediction made =
      predict::predict_by_driple(model, graph, read_vocabulary(run.ops), who);
  const bool learned = std::all_of(made.use.begin(), made.use.end(),
                                   [](const predict::DripleUse& one) { return one.within_learned(); });
  if (run.json) {
    nlohmann::ordered_json use = nlohmann::ordered_json::object();
    for (const predict::DripleUse& one : made.use)
      use[one.resource] = {{"burst", one.burst}, {"idle", one.idle}, {"consumption", one.consumption}};
    fmt::print("{}\n", nlohmann::ordered_json{{"network", run.network},
                                              {"batch", run.batch},
                                              {"groups", made.groups},
                                              {"unknown_ops", made.unknown_ops},
                                              {"within_learned", learned},
                                              {"shares_of_largest", std::move(use)}}
                           .dump());
    return 0;
  }
  TextTable table({"share of the largest", "burst", "idle", "consumption"});
  for (const predict::DripleUse& one : made.use)
    table.add({one.resource, fmt::format("{:.3f}", one.burst), fmt::format("{:.3f}", one.idle),
               fmt::format("{:.3f}", one.consumption)});
  fmt::print(
      "{}\nshares of the largest numbers among the jobs that Driple was trained on, which its authors "
      "do not publish\n",
      table.text());
  if (made.unknown_ops > 0) fmt::print("{} ops have no known frequency\n", made.unknown_ops);
  if (!learned) fmt::print("outside of 0 to 1: this graph is unlike those that Driple was trained on\n");
  return 0;
}

std::function<int()> declare_predict_import(CLI::App& command) {
  const auto options = std::make_shared<PredictImportOptions>();
  command.add_option("file", options->file, "State dict that torch.save wrote (.pkl, .pt, .pth)")
      ->required()
      ->type_name("FILE");
  add_output_file(command, "--output,-o", options->output, "Where the model goes")
      ->required()
      ->type_name("MODEL");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Reads the weights of Driple's published predictor (github.com/gsyang33/Driple, pre-train.pkl) and "
      "executes\nnothing of the file. `predict run --model MODEL --network NAME|FILE` then predicts by "
      "it.\n\n"
      "Examples:\n"
      "  trainyard predict import pre-train.pkl --output driple.model\n"
      "  trainyard predict import pre-train.pkl --output driple.model --json");
  return [options] { return import_model(*options); };
}

}  // namespace trainyard::cli
