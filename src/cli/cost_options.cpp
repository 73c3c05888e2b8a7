#include "cli/cost_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/predict.h"
#include "predict/read_predictor.h"

namespace trainyard::cli {

namespace {

std::string device_to_ask(const CostOptions& options, const std::vector<predict::DeviceSheet>& seen) {
  if (!options.device.empty()) return options.device;
  if (seen.size() == 1) return seen.front().name;
  std::vector<std::string> names;
  for (const predict::DeviceSheet& device : seen) names.push_back(device.name);
  fail(ErrorKind::usage, "--device: has to be given, '{}' is a model of {}", options.model.string(),
       names.empty() ? "no device in particular" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

void add_cost_options(CLI::App& command, CostOptions& options) {
  auto* model = command
                    .add_option("--model", options.model,
                                "What `predict fit` wrote, for estimates of runs that were never measured")
                    ->type_name("MODEL");
  command
      .add_option("--device", options.device,
                  "Where the model shall think the runs are (default: its only device)")
      ->needs(model);
  command.add_option("--devices", options.devices, "Further devices (YAML)")->type_name("FILE")->needs(model);
}

std::unique_ptr<study::CostModel> read_cost_model(const CostOptions& options) {
  if (options.model.empty()) return nullptr;
  auto model = std::make_unique<study::CostModel>();
  model->file = options.model.string();
  model->predictor = predict::read_predictor(options.model);
  const std::vector<predict::DeviceSheet> seen = model->predictor->devices();
  model->device =
      predict::find_device(devices_to_choose_from(seen, options.devices), device_to_ask(options, seen));
  return model;
}

}  // namespace trainyard::cli
