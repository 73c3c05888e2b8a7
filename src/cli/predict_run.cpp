#include "base/json.h"
#include "cli/predict.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/progress_bar.h"
#include "cli/text_table.h"
#include "predict/read_predictor.h"
#include "process/stop_request.h"

namespace trainyard::cli {

void add_graph_kind_options(Command& command, GraphKindOptions& options) {
  command
      .add_option(
          "--kind", options.kind,
          "Kind of model: first principles with fitted constants; a graph network; or kernels, each by "
          "its like in records of `bench --ops`")
      ->check(one_of({"analytic", "gnn", "kernels"}))
      ->capture_default_str();
  command
      .add_option(
          "--convolution", options.convolution,
          "gnn: neighbours are averaged by their degree (gcn, as Driple's) or summed (gin); with a base: "
          "the base's")
      ->check(one_of({"gcn", "gin"}))
      ->capture_default_str();
  command.add_option("--groups", options.groups, "gnn: nodes that ops are joined to, at most")
      ->transform(within(record::NumberRange::whole(2, 100)))
      ->capture_default_str();
  command.add_option("--epochs", options.epochs, "gnn: passes over the runs, at most")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->capture_default_str();
  command.add_option("--patience", options.patience, "gnn: epochs that may pass without getting better")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->capture_default_str();
}

std::vector<Idle> idle_options(const GraphKindOptions& options) {
  return {
      {!options.is_graph(), {"--convolution", "--groups", "--epochs", "--patience"}, "it is for --kind gnn"}};
}

predict::GraphRunResult fit_graph_kind(const predict::RunSet& set, const std::vector<std::size_t>& training,
                                       const std::vector<std::size_t>& validation,
                                       const GraphKindOptions& options, predict::GraphRunFit fit,
                                       bool quiet) {
  ProgressBar bar("fit", options.epochs, quiet);
  fit.groups = options.groups;
  fit.convolution = predict::parse_convolution(options.convolution);
  fit.epochs = options.epochs;
  fit.patience = options.patience;
  fit.hear = [&](const predict::EpochReport& report) {
    bar.update(report.epoch + 1, bar.due() ? fmt::format("loss {:.4f}", report.validation_loss) : "");
    return !process::StopRequest::asked();
  };
  return predict::fit_graph_runs(set, training, validation, fit);
}

namespace {

struct PredictRunOptions {
  std::filesystem::path model, devices, ops;
  std::string network, device, optimizer = "sgd", precision = "f32";
  std::int64_t batch = 32;
  int classes = 0;
  networks::generator::Given parameters;
  std::string data;
  double epochs = 1, images = 0;  // 0: the data set's
  std::int64_t image_size = 0;    // 0: the network's own
  bool json = false;
};

Json json_of_use(const std::vector<predict::ResourceUse>& use) {
  const auto known = [](double share) { return std::isfinite(share) ? Json(share) : Json(nullptr); };
  Json json = Json::object();
  for (const predict::ResourceUse& one : use)
    json[one.resource] = {{"burst", known(one.burst)}, {"idle", known(one.idle)}, {"peak", known(one.peak)}};
  return json;
}

// Null: this kind of model does not take a step apart.
Json json_of_parts(const predict::StepParts& parts) {
  if (parts.step == 0) return nullptr;
  return {{"products", parts.window_products + parts.other_products},
          {"product_traffic", parts.product_traffic},
          {"norm", parts.norm},
          {"other_traffic", parts.other_traffic},
          {"update", parts.update},
          {"launch", parts.launch},
          {"host", parts.host}};
}

Json json_of_basis(const predict::Basis& basis) {
  return {{"model", basis.model},
          {"runs", basis.runs},
          {"device", basis.device},
          {"device_seen", basis.device_seen},
          {"device_runs", basis.device_runs},
          {"family_runs", basis.family_runs < 0 ? Json(nullptr) : Json(basis.family_runs)},
          {"families", basis.families}};
}

std::string text_of_basis(const predict::Basis& basis) {
  const std::string device = basis.device_seen ? basis.device : basis.device + ", the device most like it",
                    like = basis.family_runs < 0
                               ? ""
                               : fmt::format(", {:.0f} of them of networks like this one", basis.family_runs);
  return fmt::format("{}: {:.0f} runs on {}{}; families {}", basis.model, basis.device_runs, device, like,
                     joined(basis.families, ", "));
}

Json json_of_prediction(const PredictRunOptions& options, const predict::Prediction& made,
                        const predict::DeviceSheet& device, const predict::Basis& basis) {
  return {{"network", options.network},
          {"data", options.data},
          {"parameters", options.parameters},
          {"device", device.name},
          {"device_seen", made.device_seen},
          {"batch", options.batch},
          {"precision", options.precision},
          {"seconds", made.seconds},
          {"interval",
           {{"coverage", predict::kCoverage}, {"low", made.low_seconds}, {"high", made.high_seconds}}},
          {"step_seconds", made.step_seconds},
          {"start_seconds", made.start_seconds},
          {"known", made.known},
          {"unlike_learned", made.unlike_learned},
          {"parts", json_of_parts(made.parts)},
          {"memory",
           {{"weights", made.memory.weights},
            {"gradients", made.memory.gradients},
            {"optimizer", made.memory.optimizer},
            {"activations", made.memory.activations},
            {"workspace", made.memory.workspace},
            {"overhead", made.memory.overhead},
            {"total", made.memory.total()}}},
          {"oom_probability", made.oom_probability},
          {"remarks", made.remarks},
          {"utilisation", json_of_use(made.use)},
          {"based_on", json_of_basis(basis)}};
}

void print_prediction(const predict::Prediction& made, const predict::DeviceSheet& device,
                      const predict::Basis& basis) {
  const auto line = [](const char* what, const std::string& value) {
    fmt::print("{:<12} {}\n", what, value);
  };
  const bool calibrated = made.high_seconds > made.low_seconds;
  line("time", format_seconds(made.seconds) +
                   (calibrated ? fmt::format(", 90 % between {} and {}", format_seconds(made.low_seconds),
                                             format_seconds(made.high_seconds))
                               : ""));
  line("step", format_seconds(made.step_seconds) +
                   (made.parts.step == 0
                        ? ""
                        : fmt::format("; the device {}, the host {}", format_seconds(made.parts.device()),
                                      format_seconds(made.parts.host))));
  line("start", format_seconds(made.start_seconds));
  line("memory", fmt::format("{} of {}", format_bytes(std::llround(made.memory.total())),
                             format_bytes(std::llround(device.memory_bytes))));
  line("out of it", fmt::format("{:.0f} % likely", 100 * made.oom_probability));
  line("based on", text_of_basis(basis));
  if (!made.use.empty()) {
    const auto percent = [](double share) {
      return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : std::string("?");
    };
    TextTable table({"of the time", "burst", "idle", "peak"});
    for (const predict::ResourceUse& one : made.use)
      table.add({one.resource, percent(one.burst), percent(one.idle), percent(one.peak)});
    fmt::print("\n{}", table.text());
  }
  for (const std::string& remark : made.remarks) fmt::print("{}\n", remark);
  if (made.unlike_learned)
    fmt::print(
        "no run that was learned from spends its time as this network does: trust the interval, not the "
        "time\n");
  if (!made.device_seen)
    fmt::print("no run of {} was seen: it goes by its figures, and the interval is wider\n", device.name);
}

std::unique_ptr<predict::Predictor> model_for(const PredictRunOptions& options,
                                              const std::optional<predict::ModelContainer>& container) {
  return container ? predict::parse_predictor(*container, options.model.string()) : read_model({});
}

predict::TableRun run_asked_for(const PredictRunOptions& options) {
  predict::TableRun run{.network = options.network,
                        .batch = options.batch,
                        .optimizer = predict::optimizer_named(options.optimizer),
                        .epochs = options.epochs,
                        .dataset = options.data,
                        .images_per_epoch = options.images,
                        .classes = options.classes,
                        .parameters = options.parameters,
                        .precision = predict::precision_named(options.precision)};
  if (run.dataset.empty() && run.images_per_epoch == 0) run.images_per_epoch = 50000;
  predict::complete_by_data_set(run, options.image_size);
  return run;
}

int predict_run(const PredictRunOptions& options, const Command& command) {
  std::optional<predict::ModelContainer> container;
  if (!options.model.empty()) container = predict::read_model_container(options.model);
  const bool imported = container && container->schema == predict::kGraphModelSchema;
  warn_of_idle_options(command, {{imported,
                                  {"--device", "--devices", "--optimizer", "--precision", "--epochs",
                                   "--images", "--data", "--image-size"},
                                  "the model was imported and knows none"},
                                 {!imported, {"--ops"}, "it is for imported models"}});
  if (imported)
    return run_imported(*container, {.model = options.model,
                                     .ops = options.ops,
                                     .network = options.network,
                                     .batch = options.batch,
                                     .classes = options.classes,
                                     .parameters = options.parameters,
                                     .json = options.json});
  if (options.device.empty()) fail(ErrorKind::usage, "--device is required");
  const std::unique_ptr<predict::Predictor> model = model_for(options, container);
  const predict::DeviceSheet device =
      device_named(options.device, devices_to_choose_from(model->devices(), options.devices), options.json);
  const predict::JobDescription job = predict::describe(run_asked_for(options), device);
  const predict::Prediction made = model->predict(job);
  const predict::Basis basis = model->basis(job);
  if (options.json)
    fmt::print("{}\n", json_text(json_of_prediction(options, made, device, basis)));
  else
    print_prediction(made, device, basis);
  return 0;
}

}  // namespace

std::function<int()> declare_predict_run(Command& command) {
  const auto options = std::make_shared<PredictRunOptions>();
  command
      .add_option(
          "--model", options->model,
          "What `predict fit`, `predict adapt` or `predict import` wrote (default: the models that the "
          "program carries)")
      ->type_name("MODEL");
  command
      .add_option(
          "--network", options->network,
          "Network to train, or the file of a graph: .onnx, .pb, .pbtxt; for an imported model also .dot")
      ->required();
  add_parameter_options(command, options->parameters);
  command.add_option("--device", options->device,
                     "Where: H200, or `here` for this machine; not for an imported model");
  command.add_option("--batch", options->batch, "Images a step")
      ->transform(within("batch"))
      ->capture_default_str();
  command.add_option("--optimizer", options->optimizer, "Rule of the update")
      ->check(one_of({"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"}))
      ->capture_default_str();
  command.add_option("--precision", options->precision, "Of the arithmetic; a model has to have seen it")
      ->check(one_of({"f32", "tf32", "bf16"}))
      ->capture_default_str();
  command
      .add_option("--classes", options->classes, "Classes (default: the data set's, or the network's own)")
      ->transform(within("classes"));
  command.add_option("--epochs", options->epochs, "How often all images are seen")
      ->transform(within("epochs"))
      ->capture_default_str();
  command.add_option(
      "--data", options->data,
      "Data set, which gives images of an epoch, classes and which network a name means: mnist, "
      "cifar10, cifar100, imagenet");
  command.add_option("--images", options->images, "Images of an epoch (default: the data set's, or 50000)")
      ->transform(within(record::NumberRange::above(0, 1e12)));
  command
      .add_option("--image-size", options->image_size,
                  "Rows and columns of an image (default: by network and data set)")
      ->transform(within(record::NumberRange::whole(1, 100'000)));
  command.add_option("--devices", options->devices, "Further devices (YAML)")->type_name("FILE");
  command
      .add_option("--ops", options->ops,
                  "Imported models: table of ops, from `networks stats --to` or GPUAlloc's (default: of all "
                  "our networks' training steps)")
      ->type_name("FILE");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Examples:\n"
      "  trainyard predict run --network resnet50 --device H200 --batch 64\n"
      "  trainyard predict run --model model.json --network resnet50 --device RTX2070 --batch 32 --epochs "
      "10\n"
      "  trainyard predict run --model model.json --network transformer --layers 8 --width 256 --device H200 "
      "--batch 64\n"
      "  trainyard predict run --model model.json --network alexnet --data cifar10 --device GTX1080 --epochs "
      "20\n"
      "  trainyard predict run --model model.json --network lenet --device H200 --batch 64 --json");
  return [options, &command] { return predict_run(*options, command); };
}

}  // namespace trainyard::cli
