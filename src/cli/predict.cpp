#include "cli/predict.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/predict_import.h"
#include "cli/text_table.h"

namespace trainyard::cli {

nlohmann::ordered_json json_of_score(const predict::Score& score) {
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

nlohmann::ordered_json json_of_use_scores(const std::vector<predict::UseScore>& scores) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
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
  std::function<int()> (*declare)(CLI::App&);
};

constexpr PredictCommand kPredictCommands[] = {
    {"fit", "Learn time and memory of training runs from a table or from records", declare_predict_fit},
    {"eval", "Say how well runs are predicted, by a model or by what is held out", declare_predict_eval},
    {"import", "Make a model of the weights of Driple's published predictor", declare_predict_import},
    {"run", "Predict time, memory and whether it fits, of one training run", declare_predict_run},
};

}  // namespace

std::function<int()> declare_predict(CLI::App& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const CLI::App*, std::function<int()>>>();
  for (const PredictCommand& row : kPredictCommands) {
    CLI::App* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "Networks are those of `trainyard networks`; devices those that a model has seen, known data sheets, "
      "or "
      "a\nfile's (docs/formats/cluster.md).\n\n"
      "Examples:\n"
      "  trainyard predict fit runs.csv --output model.json\n"
      "  trainyard predict eval --runs runs.csv --model model.json");
  return [runs, &command] { return runs->at(command.get_subcommands().front())(); };
}

}  // namespace trainyard::cli
