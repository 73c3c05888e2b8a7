#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/study.h"
#include "cli/text_table.h"
#include "study/cell/check.h"
#include "study/cell/settings.h"

namespace trainyard::cli {
namespace {

struct StudyPlanOptions {
  std::filesystem::path file, out;
  std::vector<std::string> overrides;
  std::string shard, launcher, build;
  CostOptions cost;
  bool json = false;
};

// "about 12.3 s left for 22 of 24 runs (12 measured, 10 predicted); 0.8 core-hours"; "" where nothing is
// known, or nothing left.
std::string left_text(const study::RunsCost& left) {
  if (left.known() == 0) return "";
  std::string text =
      fmt::format("about {} left for {}{} runs ({}); {:.3g} core-hours", format_seconds(left.seconds),
                  left.unknown > 0 ? fmt::format("{} of ", left.known()) : "", left.runs(), left.sources(),
                  left.core_hours);
  if (left.gpu_hours > 0) text += fmt::format(", {:.3g} GPU-hours", left.gpu_hours);
  if (left.node_hours) text += fmt::format(", {:.3g} node-hours", *left.node_hours);
  return text;
}

void print_summary(const study::Spec& spec, const study::Plan& plan, const study::StudyCost& cost,
                   study::Where where) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<10} {}\n", label, value);
  };
  row("study", spec.name + (spec.about.empty() ? "" : ": " + spec.about));
  row("cells", fmt::format("{}{}", plan.cells.size(),
                           plan.excluded > 0 ? fmt::format(" ({} excluded)", plan.excluded) : ""));
  row("runs",
      fmt::format("{} = {} cells x {} replicates", plan.runs.size(), plan.cells.size(), spec.replicates));
  row("for", where == study::Where::cluster ? "a cluster (--launcher local: this machine)" : "this machine");
  std::vector<std::string> texts;
  if (cost.images > 0)
    texts.push_back(fmt::format("{} steps, {} images", format_count(cost.steps), format_count(cost.images)));
  if (cost.at_most_seconds > 0)
    texts.push_back(fmt::format("at most {} by the time limit", format_seconds(cost.at_most_seconds)));
  if (std::string left = left_text(cost.left); !left.empty()) texts.push_back(std::move(left));
  row("cost", texts.empty() ? "unknown: neither steps nor a time limit are given" : joined(texts, "; "));
}

// "?": not known; "-": it can never run.
std::string about_text(const study::Estimates& estimates, const std::string& cell) {
  const auto found = estimates.find(cell);
  if (found == estimates.end()) return "-";
  return found->second.known() ? format_seconds(found->second.seconds) : "?";
}

void print_cells(const study::Plan& plan, const study::Estimates& estimates) {
  std::vector<const record::Settings*> settings;
  for (const study::Cell& cell : plan.cells) settings.push_back(&cell.settings);
  const std::vector<std::string> names = varying_settings(settings);
  const bool some_refused = std::any_of(plan.cells.begin(), plan.cells.end(),
                                        [](const study::Cell& cell) { return !cell.refused.empty(); });
  const bool some_known = std::any_of(estimates.begin(), estimates.end(),
                                      [](const auto& estimate) { return estimate.second.known(); });
  std::vector<std::string> head = names;
  if (some_known) head.emplace_back("about");
  head.emplace_back("cell");
  if (some_refused) head.emplace_back("can never run");
  TextTable table(head);
  for (const study::Cell& cell : plan.cells) {
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(study::setting_text(cell.settings, name));
    if (some_known) row.push_back(about_text(estimates, cell.hash));
    row.push_back("#" + cell.hash);
    if (some_refused) row.push_back(cell.refused);
    table.add(std::move(row));
  }
  fmt::print("\n{}", table.text());
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of_left(const study::RunsCost& left) {
  const auto if_known = [&](double value) {
    return left.known() == 0 && left.unknown > 0 ? Json(nullptr) : Json(value);
  };
  return {{"seconds", if_known(left.seconds)},
          {"low_seconds", number_or_null(left.low_seconds)},
          {"high_seconds", number_or_null(left.high_seconds)},
          {"measured", left.measured},
          {"predicted", left.predicted},
          {"similar", left.similar},
          {"unknown", left.unknown},
          {"core_hours", if_known(left.core_hours)},
          {"gpu_hours", if_known(left.gpu_hours)},
          {"node_hours", number_or_null(left.known() > 0 ? left.node_hours : std::nullopt)}};
}

void print_json(const study::Spec& spec, const study::Plan& plan, const study::StudyCost& cost,
                const study::Estimates& estimates, study::Where where) {
  Json cells = Json::array();
  for (const study::Cell& cell : plan.cells) {
    const auto found = estimates.find(cell.hash);
    const bool known = found != estimates.end() && found->second.known();
    cells.push_back({{"cell", cell.hash},
                     {"settings", parse_json(record::to_json(cell.settings))},
                     {"refused", cell.refused.empty() ? Json(nullptr) : Json(cell.refused)},
                     {"estimated_seconds", known ? Json(found->second.seconds) : Json(nullptr)},
                     {"estimated_by", known ? Json(name(found->second.by)) : Json(nullptr)}});
  }
  const Json json = {
      {"study", spec.name},
      {"launcher", where == study::Where::cluster ? "slurm" : "local"},
      {"runs", plan.runs.size()},
      {"replicates", spec.replicates},
      {"excluded", plan.excluded},
      {"steps", cost.steps},
      {"images", cost.images},
      {"at_most_seconds", cost.at_most_seconds > 0 ? Json(cost.at_most_seconds) : Json(nullptr)},
      {"done", cost.done},
      {"estimate", json_of_left(cost.left)},
      {"remarks", plan.remarks},
      {"cells", cells}};
  fmt::print("{}\n", json_text(json));
}

int plan_study(const StudyPlanOptions& options) {
  const study::Spec spec = read_study(options.file, options.overrides, options.build);
  const study::Where where = study::to_where(options.launcher, spec);
  const std::unique_ptr<study::CostModel> model = read_cost_model(options.cost);
  study::Plan plan = share_of(study::make_plan(spec, study::cell_check(spec, where)), options.shard);
  const study::Folder folder = folder_of(spec, options.out);
  const study::Estimates estimates = estimate_cells(spec, plan, folder, model.get());
  const study::StudyCost cost = cost_of(spec, plan, folder, estimates, where);
  for (const auto& [reason, runs] : cost.left.reasons)
    plan.remarks.push_back(fmt::format("{} of {} runs have no estimate: {}", runs, cost.left.runs(), reason));
  if (options.json) {
    print_json(spec, plan, cost, estimates, where);
  } else {
    print_summary(spec, plan, cost, where);
    print_cells(plan, estimates);
  }
  for (const std::string& remark : plan.remarks) fmt::print(stderr, "trainyard: {}\n", remark);
  return report_impossible(spec, plan) == 0 ? 0 : 1;
}

}  // namespace

std::function<int()> declare_study_plan(Command& command) {
  const auto options = std::make_shared<StudyPlanOptions>();
  add_study_options(command, options->file, options->out, options->overrides);
  add_shard_option(command, options->shard);
  command.add_option(
      "--launcher,-l", options->launcher,
      "Where runs shall go: local, or slurm (default: slurm where the study asks a cluster for "
      "something, such as a partition or nodes)");
  add_cost_options(command, options->cost);
  add_measured_build_option(command, options->build);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Cells that can never run are listed with the reason, and the exit code is then 1: settings that the "
      "command\n"
      "refuses, a batch larger than the training set, devices or nodes that would idle, more threads than "
      "cores, a\n"
      "{place} in a program that no setting fills. `study run` refuses the same.\n\n"
      "Seconds of a run are estimated by good runs of its cell in the study's folder, else by --model, else "
      "by "
      "the mean\n"
      "of the other cells once one of them was measured.\n\n"
      "Examples:\n"
      "  trainyard study plan studies/psc-deepmnist.yaml\n"
      "  trainyard study plan studies/batch-sweep.yaml --model model.json --device GTX1080 --json");
  return [options] { return plan_study(*options); };
}

}  // namespace trainyard::cli
