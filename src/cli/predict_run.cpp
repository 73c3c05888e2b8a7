#include <cmath>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "cli/predict_commands.h"
#include "cli/predict_report.h"
#include "predict/model_file.h"
#include "predict/network_name.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PredictRunOptions {
  std::filesystem::path model, devices;
  std::string network, device, optimizer = "sgd";
  std::int64_t batch = 32;
  int classes = 0;
  double epochs = 1, images = 50000;
  bool json = false;
};

ops::Rule rule_of(const std::string& name) {
  if (name == "adam") return ops::Rule::adam;
  if (name == "momentum") return ops::Rule::momentum;
  return name == "rmsprop" ? ops::Rule::rmsprop : ops::Rule::sgd;
}

Json json_of_prediction(const PredictRunOptions& options, const predict::Prediction& made,
                        const predict::DeviceModel& on) {
  const predict::StepParts& parts = made.parts;
  return {{"network", options.network},
          {"device", on.device.name},
          {"device_seen", on.runs > 0},
          {"batch", options.batch},
          {"seconds", made.seconds},
          {"interval",
           {{"coverage", predict::kCoverage}, {"low", made.low_seconds}, {"high", made.high_seconds}}},
          {"step_seconds", made.step_seconds},
          {"start_seconds", made.start_seconds},
          {"known", made.known},
          {"parts",
           {{"products", parts.window_products + parts.other_products},
            {"product_traffic", parts.product_traffic},
            {"norm", parts.norm},
            {"other_traffic", parts.other_traffic},
            {"update", parts.update},
            {"launch", parts.launch},
            {"host", parts.host}}},
          {"memory",
           {{"weights", made.memory.weights},
            {"gradients", made.memory.gradients},
            {"optimizer", made.memory.optimizer},
            {"activations", made.memory.activations},
            {"workspace", made.memory.workspace},
            {"total", made.memory.total()}}},
          {"oom_probability", made.oom_probability}};
}

void print_prediction(const predict::Prediction& made, const predict::DeviceModel& on) {
  const auto line = [](const char* what, const std::string& value) {
    fmt::print("{:<12} {}\n", what, value);
  };
  const bool calibrated = made.high_seconds > made.low_seconds;
  line("time", format_seconds(made.seconds) +
                   (calibrated ? fmt::format(", 90 % between {} and {}", format_seconds(made.low_seconds),
                                             format_seconds(made.high_seconds))
                               : ""));
  line("step", fmt::format("{}; the device {}, the host {}", format_seconds(made.step_seconds),
                           format_seconds(made.parts.device()), format_seconds(made.parts.host)));
  line("start", format_seconds(made.start_seconds));
  line("memory", fmt::format("{} of {}", format_bytes(std::llround(made.memory.total())),
                             format_bytes(std::llround(on.device.memory_bytes))));
  line("out of it", fmt::format("{:.0f} % likely", 100 * made.oom_probability));
  if (on.runs == 0)
    fmt::print("no run of {} was seen: by its data sheet, with an average host\n", on.device.name);
}

int predict_run(const PredictRunOptions& options) {
  if (!(options.epochs > 0) || !(options.images > 0) || options.batch < 1)
    fail(ErrorKind::usage, "--epochs {}, --images {}, --batch {}: must be above 0", options.epochs,
         options.images, options.batch);
  const predict::TimeModel model = predict::read_time_model(options.model);
  const predict::DeviceModel on = model.find(options.device, devices_to_choose_from(&model, options.devices));
  const predict::NamedNetwork network = predict::named_network(options.network);
  const predict::NetworkWork work = predict::work_of({.network = network.network,
                                                      .batch = options.batch,
                                                      .classes = options.classes,
                                                      .input = network.input,
                                                      .optimizer = rule_of(options.optimizer)});
  const double warmup = predict::TableRun{}.warmup_steps;
  const double steps = warmup + options.epochs * options.images / static_cast<double>(options.batch);
  const predict::Prediction made = predict::predict(model, work, on, steps);
  if (options.json)
    fmt::print("{}\n", json_of_prediction(options, made, on).dump());
  else
    print_prediction(made, on);
  return 0;
}

}  // namespace

std::function<int()> declare_predict_run(CLI::App& command) {
  const auto options = std::make_shared<PredictRunOptions>();
  command.add_option("--model", options->model, "What `predict fit` wrote")->required()->type_name("MODEL");
  command.add_option("--network", options->network, "Network to train")->required();
  command.add_option("--device", options->device, "Where")->required();
  command.add_option("--batch", options->batch, "Images a step")->capture_default_str();
  command.add_option("--optimizer", options->optimizer, "Rule of the update")
      ->check(CLI::IsMember({"sgd", "momentum", "rmsprop", "adam"}))
      ->capture_default_str();
  command.add_option("--classes", options->classes, "Classes (default: the network's own)");
  command.add_option("--epochs", options->epochs, "How often all images are seen")->capture_default_str();
  command.add_option("--images", options->images, "Images of an epoch")->capture_default_str();
  command.add_option("--devices", options->devices, "Further devices (YAML)")->type_name("FILE");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Examples:\n"
      "  trainyard predict run --model model.json --network resnet50 --device RTX2070 --batch 32 --epochs "
      "10\n"
      "  trainyard predict run --model model.json --network lenet --device H200 --batch 64 --json");
  return [options] { return predict_run(*options); };
}

}  // namespace trainyard::cli
