#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/cell_check.h"
#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "cli/text_table.h"
#include "study/progress.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct StudyPlanOptions {
  std::filesystem::path file, out;
  std::vector<std::string> overrides;
  std::string shard, launcher;
  bool json = false;
};

struct Cost {
  double steps = 0, images = 0;  // 0: not known from the settings
  double at_most_seconds = 0;    // by the time limit; 0: there is none
  double measured_seconds = 0;   // of what is left, by the runs already done; 0: none is
  std::int64_t done = 0, runs = 0;
};

Cost cost_of(const study::Spec& spec, const study::Plan& plan, const study::Folder& folder) {
  const auto number = [](const record::Settings& settings, const char* name, double otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : record::number_or(found->second, otherwise);
  };
  Cost cost;
  cost.runs = static_cast<std::int64_t>(plan.runs.size());
  for (const store::PlannedRun& run : plan.runs) {
    const double steps = number(run.settings, "steps", 0);
    const bool weak = setting_text(run.settings, "scaling") == "weak";
    cost.steps += steps;
    cost.images += steps * number(run.settings, "batch", 0) * (weak ? number(run.settings, "devices", 1) : 1);
  }
  cost.at_most_seconds = spec.time_limit_seconds * static_cast<double>(cost.runs);
  if (!std::filesystem::exists(folder.store())) return cost;
  std::map<std::string, std::pair<double, int>> by_cell;  // seconds, runs
  double seconds = 0;
  const study::Progress progress = study::progress_of(folder);
  for (const study::RunState& state : progress.states)
    if (state.done()) {
      by_cell[state.planned.cell].first += state.result->wall_seconds;
      by_cell[state.planned.cell].second += 1;
      seconds += state.result->wall_seconds;
      ++cost.done;
    }
  if (cost.done == 0) return cost;
  for (const study::RunState& state : progress.states) {
    if (state.done()) continue;
    const auto known = by_cell.find(state.planned.cell);
    cost.measured_seconds += known != by_cell.end() ? known->second.first / known->second.second
                                                    : seconds / static_cast<double>(cost.done);
  }
  return cost;
}

void print_summary(const study::Spec& spec, const study::Plan& plan, const Cost& cost, Where where) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<10} {}\n", label, value);
  };
  row("study", spec.name + (spec.about.empty() ? "" : ": " + spec.about));
  row("cells", fmt::format("{}{}", plan.cells.size(),
                           plan.excluded > 0 ? fmt::format(" ({} excluded)", plan.excluded) : ""));
  row("runs",
      fmt::format("{} = {} cells x {} replicates", plan.runs.size(), plan.cells.size(), spec.replicates));
  row("for", where == Where::cluster ? "a cluster (--launcher local: this machine)" : "this machine");
  std::string text;
  if (cost.images > 0)
    text = fmt::format("{} steps, {} images", format_count(cost.steps), format_count(cost.images));
  if (cost.at_most_seconds > 0)
    text += fmt::format("{}at most {} by the time limit", text.empty() ? "" : "; ",
                        format_seconds(cost.at_most_seconds));
  if (cost.measured_seconds > 0)
    text +=
        fmt::format("; about {} left, by the {} runs done", format_seconds(cost.measured_seconds), cost.done);
  row("cost", text.empty() ? "unknown: neither steps nor a time limit are given" : text);
}

void print_cells(const study::Plan& plan) {
  std::vector<const record::Settings*> settings;
  for (const study::Cell& cell : plan.cells) settings.push_back(&cell.settings);
  const std::vector<std::string> names = varying_settings(settings);
  const bool some_refused = std::any_of(plan.cells.begin(), plan.cells.end(),
                                        [](const study::Cell& cell) { return !cell.refused.empty(); });
  std::vector<std::string> head = names;
  head.emplace_back("cell");
  if (some_refused) head.emplace_back("can never run");
  TextTable table(head);
  for (const study::Cell& cell : plan.cells) {
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(setting_text(cell.settings, name));
    row.push_back("#" + cell.hash);
    if (some_refused) row.push_back(cell.refused);
    table.add(std::move(row));
  }
  fmt::print("\n{}", table.text());
}

void print_json(const study::Spec& spec, const study::Plan& plan, const Cost& cost, Where where) {
  Json cells = Json::array();
  for (const study::Cell& cell : plan.cells)
    cells.push_back({{"cell", cell.hash},
                     {"settings", Json::parse(record::to_json(cell.settings))},
                     {"refused", cell.refused.empty() ? Json(nullptr) : Json(cell.refused)}});
  const Json json = {
      {"study", spec.name},
      {"launcher", where == Where::cluster ? "slurm" : "local"},
      {"runs", plan.runs.size()},
      {"replicates", spec.replicates},
      {"excluded", plan.excluded},
      {"steps", cost.steps},
      {"images", cost.images},
      {"at_most_seconds", cost.at_most_seconds > 0 ? Json(cost.at_most_seconds) : Json(nullptr)},
      {"done", cost.done},
      {"remarks", plan.remarks},
      {"cells", cells}};
  fmt::print("{}\n", json.dump());
}

int plan_study(const StudyPlanOptions& options) {
  const study::Spec spec = read_study(options.file, options.overrides);
  const Where where = to_where(options.launcher, spec);
  const study::Plan plan = share_of(study::make_plan(spec, cell_check(spec, where)), options.shard);
  const Cost cost = cost_of(spec, plan, folder_of(spec, options.out));
  if (options.json) {
    print_json(spec, plan, cost, where);
  } else {
    print_summary(spec, plan, cost, where);
    print_cells(plan);
  }
  for (const std::string& remark : plan.remarks) fmt::print(stderr, "trainyard: {}\n", remark);
  return report_impossible(spec, plan) == 0 ? 0 : 1;
}

}  // namespace

std::function<int()> declare_study_plan(CLI::App& command) {
  const auto options = std::make_shared<StudyPlanOptions>();
  add_study_options(command, options->file, options->out, options->overrides);
  add_shard_option(command, options->shard);
  command.add_option(
      "--launcher,-l", options->launcher,
      "Where runs shall go: local, or slurm (default: slurm where the study asks a cluster for "
      "something, such as a partition or nodes)");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Cells that can never run are listed with the reason, and the exit code is then 1: settings that the "
      "command\n"
      "refuses, a batch larger than the training set, devices or nodes that would idle, more threads than "
      "cores, a\n"
      "{place} in a program that no setting fills. `study run` refuses the same.\n\n"
      "Examples:\n"
      "  trainyard study plan studies/psc-deepmnist.yaml\n"
      "  trainyard study plan studies/batch-sweep.yaml --json");
  return [options] { return plan_study(*options); };
}

}  // namespace trainyard::cli
