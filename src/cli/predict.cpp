#include "cli/predict.h"

#include "base/file.h"
#include "base/json.h"
#include "cli/outputs.h"
#include "cli/probe_cpu.h"
#include "cli/text_table.h"
#include "cli/train.h"
#include "predict/bundled/bundled_models.h"
#include "predict/gnn/driple.h"
#include "predict/read_predictor.h"
#include "weights/state_dict.h"

namespace trainyard::cli {

Json json_of_score(const predict::Score& score) {
  return {{"runs", score.runs},
          {"mape", score.mape},
          {"median", score.median},
          {"p95", score.p95},
          {"spearman", score.spearman},
          {"coverage", score.coverage},
          {"oom", score.oom},
          {"oom_missed", score.oom_missed},
          {"oom_false", score.oom_false},
          {"memory_runs", score.memory_runs},
          {"memory_mape", score.memory_mape},
          {"memory_median", score.memory_median}};
}

void print_scores(const std::string& what, const NamedScores& scores) {
  std::vector<std::string> head{what,       "runs",        "MAPE", "median", "p95",
                                "Spearman", "in interval", "OOM",  "missed", "false"};
  const bool memory =
      std::any_of(scores.begin(), scores.end(), [](const auto& one) { return one.second.memory_runs > 0; });
  if (memory) head.insert(head.end(), {"memory MAPE", "memory median"});
  TextTable table(std::move(head));
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  for (const auto& [name, score] : scores) {
    std::vector<std::string> row{name,
                                 fmt::format("{}", score.runs),
                                 percent(score.mape),
                                 percent(score.median),
                                 percent(score.p95),
                                 fmt::format("{:.3f}", score.spearman),
                                 percent(score.coverage),
                                 fmt::format("{}", score.oom),
                                 fmt::format("{}", score.oom_missed),
                                 fmt::format("{}", score.oom_false)};
    const auto of_memory = [&](double share) { return score.memory_runs > 0 ? percent(share) : "-"; };
    if (memory) row.insert(row.end(), {of_memory(score.memory_mape), of_memory(score.memory_median)});
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
}

Json json_of_use_scores(const std::vector<predict::UseScore>& scores) {
  Json json = Json::object();
  for (const predict::UseScore& one : scores)
    json[one.resource][one.share] = {{"runs", one.runs},
                                     {"error_points", 100 * one.error},
                                     {"error_points_of_mean", 100 * one.usual_error}};
  return json;
}

void print_use_scores(const std::vector<predict::UseScore>& scores) {
  if (scores.empty()) return;
  TextTable table({"share of time", "runs", "mean error", "of saying the mean"});
  for (const predict::UseScore& one : scores)
    table.add({one.resource + " " + one.share, fmt::format("{}", one.runs),
               fmt::format("{:.1f} points", 100 * one.error),
               fmt::format("{:.1f} points", 100 * one.usual_error)});
  fmt::print("\n{}", table.text());
}

namespace {

// Reads RUNS, or DEVICE=RUNS whose records are of that device.
predict::RunTable read_given_runs(const std::string& given, const std::string& device) {
  const std::size_t sign = given.find('=');
  if (sign == std::string::npos || sign == 0 || given.find('/') < sign || std::filesystem::exists(given))
    return predict::read_runs(given, device);
  return predict::read_runs(given.substr(sign + 1), given.substr(0, sign));
}

}  // namespace

predict::RunTable joined_runs(const std::vector<std::string>& runs, const std::string& device) {
  predict::RunTable all;
  for (const std::string& given : runs) {
    predict::RunTable table = read_given_runs(given, device);
    all.source += (all.source.empty() ? "" : ", ") + table.source;
    all.runs.insert(all.runs.end(), table.runs.begin(), table.runs.end());
  }
  return all;
}

std::unique_ptr<predict::Predictor> read_model(const std::filesystem::path& file) {
  return file.empty() ? predict::make_bundled_predictor() : predict::read_predictor(file);
}

predict::DeviceSheet device_named(const std::string& name, const std::vector<predict::DeviceSheet>& devices,
                                  bool quiet) {
  const bool known = std::any_of(devices.begin(), devices.end(), [&](const predict::DeviceSheet& one) {
    return predict::same_device_name(one.name, name);
  });
  const bool own = name == "cpu" || name == "here";
  return !known && own ? own_cpu(quiet) : predict::find_device(devices, name);
}

std::vector<predict::DeviceSheet> devices_to_choose_from(const std::vector<predict::DeviceSheet>& seen,
                                                         const std::filesystem::path& file) {
  std::vector<predict::DeviceSheet> devices;
  const auto add = [&](const predict::DeviceSheet& device) {
    if (std::none_of(devices.begin(), devices.end(), [&](const predict::DeviceSheet& one) {
          return predict::same_device_name(one.name, device.name);
        }))
      devices.push_back(device);
  };
  for (const predict::DeviceSheet& device : seen) add(device);
  if (!file.empty())
    for (const predict::DeviceSheet& device : predict::read_devices(file)) add(device);
  for (const predict::DeviceSheet& device : predict::known_devices()) add(device);
  return devices;
}

namespace {

struct PredictCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(Command&);
};

constexpr PredictCommand kPredictCommands[] = {
    {"adapt", "Correct a model for a device by a few of its runs", declare_predict_adapt},
    {"fit", "Learn time and memory of training runs from a table or from records", declare_predict_fit},
    {"eval", "Say how well runs are predicted, by a model or by what is held out", declare_predict_eval},
    {"import", "Make a model of the weights of Driple's published predictor", declare_predict_import},
    {"run", "Predict time, memory and whether it fits, of one training run", declare_predict_run},
};

}  // namespace

std::function<int()> declare_predict(Command& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const Command*, std::function<int()>>>();
  for (const PredictCommand& row : kPredictCommands) {
    Command* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "Networks are those of `trainyard networks`; devices those that a model has seen, known data sheets, "
      "or "
      "a\nfile's (docs/formats/cluster.md).\n\n"
      "Examples:\n"
      "  trainyard predict fit runs.csv --output model.json\n"
      "  trainyard predict eval --runs runs.csv --model model.json");
  return [runs, &command] { return runs->at(command.chosen())(); };
}

namespace {

struct PredictImportOptions {
  std::filesystem::path file, output;
  bool json = false;
};

int import_model(const PredictImportOptions& options) {
  const std::vector<std::byte> file = read_file(options.file);
  const std::string who = options.file.string();
  const predict::GnnModel model = predict::import_driple(weights::parse_state_dict(file, who), who);
  predict::save_model(options.output, model);
  if (options.json)
    fmt::print("{}\n", json_text(Json{{"model", options.output.string()},
                                      {"kind", "driple"},
                                      {"tensors", model.parameters.size()},
                                      {"parameters", model.parameter_count()}}));
  else
    fmt::print("{} tensors, {} parameters of Driple's network: {}\n", model.parameters.size(),
               model.parameter_count(), options.output.string());
  return 0;
}

}  // namespace

int run_imported(const predict::ModelContainer& container, const ImportedRun& run) {
  const std::string who = run.model.string();
  const predict::GnnModel model = predict::parse_model(predict::parse_model_file(container, who), who);
  const interchange::ExchangeGraph graph = graph_of(
      run.network,
      {.batch = run.batch, .classes = run.classes, .parameters = run.parameters, .step = "training"});
  const predict::DriplePrediction made =
      predict::predict_by_driple(model, graph, read_vocabulary(run.ops), who);
  const bool learned = std::all_of(made.use.begin(), made.use.end(),
                                   [](const predict::DripleUse& one) { return one.within_learned(); });
  if (run.json) {
    Json use = Json::object();
    for (const predict::DripleUse& one : made.use)
      use[one.resource] = {{"burst", one.burst}, {"idle", one.idle}, {"consumption", one.consumption}};
    fmt::print("{}\n", json_text(Json{{"network", run.network},
                                      {"batch", run.batch},
                                      {"groups", made.groups},
                                      {"unknown_ops", made.unknown_ops},
                                      {"within_learned", learned},
                                      {"shares_of_largest", std::move(use)}}));
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

std::function<int()> declare_predict_import(Command& command) {
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
