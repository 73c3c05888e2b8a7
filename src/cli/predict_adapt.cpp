#include "base/error.h"
#include "base/json.h"
#include "cli/outputs.h"
#include "cli/predict.h"
#include "predict/analytic/fit_model.h"
#include "predict/bundled/bundled_models.h"
#include "predict/kernels/kernel_model.h"

namespace trainyard::cli {
namespace {

struct AdaptOptions {
  std::vector<std::string> runs;
  std::filesystem::path model, devices, output;
  std::string device;
  bool json = false;
};

predict::ModelContainer base_of(const AdaptOptions& options, const predict::DeviceSheet& device) {
  if (!options.model.empty()) return predict::read_model_container(options.model);
  const predict::BundledModel& like = predict::bundled_model_like(device);
  return predict::parse_model_container(like.file, like.name);
}

// The model before and after, on the runs that it was adapted with.
struct Adapted {
  predict::ModelContainer container;
  std::unique_ptr<predict::Predictor> before, after;
};

Adapted adapt(const predict::ModelContainer& base, const std::string& who, const predict::RunSet& set) {
  if (base.schema == predict::kKernelModelSchema) {
    const predict::KernelModel model = predict::parse_kernel_model(base, who),
                               adapted = predict::adapt_kernel_model(model, set, predict::all_rows(set));
    return {predict::to_container(adapted), predict::make_predictor(model), predict::make_predictor(adapted)};
  }
  if (base.schema != predict::kTimeModelSchema)
    fail(ErrorKind::config, "'{}': a model of kind '{}' is not adapted; wants '{}' or '{}'", who, base.schema,
         predict::kKernelModelSchema, predict::kTimeModelSchema);
  const predict::TimeModel model = predict::parse_time_model(base, who),
                           adapted = predict::fit_model(set, predict::all_rows(set), {.base = &model});
  return {predict::to_container(adapted), predict::make_predictor(model), predict::make_predictor(adapted)};
}

int predict_adapt(const AdaptOptions& options) {
  const std::vector<predict::DeviceSheet> known =
      devices_to_choose_from(read_model(options.model)->devices(), options.devices);
  predict::DeviceSheet device = device_named(options.device, known, options.json);
  device.name = options.device;
  predict::RunTable table = joined_runs(options.runs, options.device);
  std::erase_if(table.runs, [&](const predict::TableRun& run) {
    return !predict::same_device_name(run.device, options.device);
  });
  if (table.runs.empty()) fail(ErrorKind::config, "{}: no run on device '{}'", table.source, options.device);
  const predict::RunSet set = predict::prepare_runs(table, {device});
  const predict::ModelContainer base = base_of(options, device);
  const Adapted adapted = adapt(base, options.model.string(), set);
  predict::write_model_container(options.output, adapted.container);
  const auto score = [&](predict::Predictor& model) {
    return predict::score(predict::judge(model, set, predict::all_rows(set)));
  };
  const predict::Score before = score(*adapted.before), after = score(*adapted.after);
  if (options.json) {
    fmt::print("{}\n", json_text(Json{{"model", options.output.string()},
                                      {"device", device.name},
                                      {"runs", set.rows.size()},
                                      {"before", json_of_score(before)},
                                      {"after", json_of_score(after)}}));
    return 0;
  }
  fmt::print("{} runs of {}: {}\n", set.rows.size(), device.name, options.output.string());
  print_scores("model", {{"before", before}, {"after", after}});
  fmt::print("errors are of the runs that were learned from; `predict eval --model` judges by others\n");
  return 0;
}

}  // namespace

std::function<int()> declare_predict_adapt(Command& command) {
  const auto options = std::make_shared<AdaptOptions>();
  command
      .add_option(
          "runs", options->runs,
          "Some runs of the device, of `bench --ops` best: records (.json, .jsonl, .jsonl.gz), folders of "
          "records, tables (CSV)")
      ->required()
      ->type_name("RUNS");
  command.add_option("--device", options->device, "Whose runs they are; `here` for this machine")
      ->required()
      ->type_name("NAME");
  command.add_option("--devices", options->devices, "Further devices (YAML)")->type_name("FILE");
  command
      .add_option("--model", options->model,
                  "What shall be adapted (default: that of the program's models which is most like it)")
      ->type_name("MODEL");
  add_output_file(command, "--output,-o", options->output, "Where the adapted model goes")
      ->required()
      ->type_name("MODEL");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Five to twenty runs of different networks correct a model for a device that it has not seen, and\n"
      "narrow its intervals, as far as runs that are left out confirm it.\n\n"
      "Examples:\n"
      "  trainyard predict adapt runs.csv --device GTX1080 --model model.json --output adapted.model\n"
      "  trainyard predict adapt runs.csv --device GTX1080 --model model.json --output adapted.model --json");
  return [options] { return predict_adapt(*options); };
}

}  // namespace trainyard::cli
