#include "cli/study.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/predict.h"
#include "record/build.h"
#include "run/run_options.h"
#include "study/cell/settings.h"
#include "study/slurm/cluster.h"
#include "study/slurm/launcher.h"
#include "study/spec/file_networks.h"

namespace trainyard::cli {

namespace {

struct StudyCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(Command&);
};

constexpr StudyCommand kStudyCommands[] = {
    {"plan", "Print a study's cells and what they may cost; run nothing", declare_study_plan},
    {"run", "Run what a study expects and is not done yet", declare_study_run},
    {"status", "Expected, done, failed and missing runs of a study", declare_study_status},
    {"export", "Print a study's runs as CSV or JSON lines", declare_study_export},
    {"collect", "Take in what a study's runs on a cluster left", declare_study_collect},
    {"cancel", "Take a study's unfinished runs out of the cluster's queue", declare_study_cancel},
    {"exec", "One run on a node: what a cluster's job calls", declare_study_exec},
    {"import", "Take in what others published: PSC's outputs, ParaDnn's sweeps and traces",
     declare_study_import},
    {"history", "A study over builds and dates: where its figures changed", declare_study_history},
    {"analyze", "What limits the points of a study, and how two systems compare", declare_study_analyze},
};

}  // namespace

std::function<int()> declare_study(Command& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const Command*, std::function<int()>>>();
  for (const StudyCommand& row : kStudyCommands) {
    Command* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "A study is a matrix of runs in a YAML file (docs/formats/study.md). Its folder keeps every run there "
      "ever\n"
      "was; a study that was killed goes on where it stopped.\n\n"
      "Examples:\n"
      "  trainyard study plan studies/batch-sweep.yaml\n"
      "  trainyard study run studies/smoke.yaml");
  return [runs, &command] { return runs->at(command.chosen())(); };
}

namespace {

struct StudyStatusOptions {
  std::filesystem::path folder;
  std::string build;
  bool json = false;
};

int status(const StudyStatusOptions& options) {
  const study::Folder folder = existing_folder(options.folder);
  study::StudyProgress progress = progress_of_build(folder, options.build);
  study::note_running(folder, progress);
  const std::string silent = study::slurm::note_in_flight(folder, progress);
  if (!silent.empty()) fmt::print(stderr, "trainyard: {}; runs in its queue count as missing\n", silent);
  if (options.json)
    fmt::print("{}\n", json_text(progress_json(progress)));
  else
    print_progress(progress);
  return 0;
}

}  // namespace

std::function<int()> declare_study_status(Command& command) {
  const auto options = std::make_shared<StudyStatusOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  add_build_option(command, options->build);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Runs without a record are running, queued (in Slurm's queue) or missing. Of each cell --json has the "
      "median\n"
      "speed over its runs with its interval (docs/formats/study.md).\n\n"
      "Examples:\n"
      "  trainyard study status results/smoke\n"
      "  trainyard study status results/smoke --json");
  return [options] { return status(*options); };
}

namespace {

struct StudyCancelOptions {
  std::filesystem::path folder;
  bool json = false;
};

int cancel(const StudyCancelOptions& options) {
  const int runs = study::slurm::cancel(existing_folder(options.folder));
  if (options.json)
    fmt::print("{{\"cancelled\":{}}}\n", runs);
  else
    fmt::print("{} runs taken out of Slurm's queue\n", runs);
  return 0;
}

}  // namespace

std::function<int()> declare_study_cancel(Command& command) {
  const auto options = std::make_shared<StudyCancelOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Cancelled runs are tried again by the next 'study run'.\n\n"
      "Examples:\n"
      "  trainyard study cancel results/smoke\n"
      "  trainyard study cancel results/smoke --json");
  return [options] { return cancel(*options); };
}

namespace {

struct StudyCollectOptions {
  std::filesystem::path folder;
  bool json = false;
};

int collect(const StudyCollectOptions& options) {
  const study::Folder folder = existing_folder(options.folder);
  const int made = study::slurm::make_missing_records(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  std::vector<std::string> complaints;
  const int taken_in = study::ingest(folder, store, complaints);
  for (const std::string& complaint : complaints) fmt::print(stderr, "trainyard: {}\n", complaint);
  study::StudyProgress progress = study::progress_of(folder);
  study::slurm::note_in_flight(folder, progress);
  if (options.json) {
    auto json = progress_json(progress);
    json["taken_in"] = taken_in;
    json["made_from_states"] = made;
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{} runs taken in, {} of them known only from Slurm's states\n", taken_in, made);
    print_progress(progress);
  }
  return 0;
}

}  // namespace

std::function<int()> declare_study_collect(Command& command) {
  const auto options = std::make_shared<StudyCollectOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Runs whose job Slurm ended without a record (time limit, scancel, a failed node) get one that says "
      "so.\n"
      "A job after the last of a study's jobs does this by itself, also when nobody waits for them.\n\n"
      "Examples:\n"
      "  trainyard study collect results/smoke\n"
      "  trainyard study collect results/smoke --json");
  return [options] { return collect(*options); };
}

std::function<int()> declare_study_exec(Command& command) {
  struct Options {
    std::filesystem::path folder;
    std::string submission;
    int task = 0;
  };
  const auto options = std::make_shared<Options>();
  command.group("");  // for job scripts, not for people
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_option("submission", options->submission, "Name of the array of jobs")->required();
  command.add_option("task", options->task, "Its number in the array")->required();
  return [options] { return study::slurm::run_task({options->folder}, options->submission, options->task); };
}

study::Spec read_study(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::string& build) {
  study::Spec spec = study::read_spec(file, run::choices_of);
  if (!build.empty()) spec.build = build;
  for (const std::string& assignment : overrides) study::override_setting(spec, assignment, run::choices_of);
  spec.networks = study::find_file_networks(spec);
  return spec;
}

void add_study_options(Command& command, std::filesystem::path& file, std::filesystem::path& out,
                       std::vector<std::string>& overrides) {
  command.add_option("file", file, "The study's YAML file")->required()->type_name("FILE");
  command.add_option("--out,-o", out, "The study's folder (default: results/NAME)")->type_name("DIR");
  command.add_option("--set", overrides, "A setting in place of the file's; may be given several times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_measured_build_option(Command& command, std::string& build) {
  command
      .add_option(
          "--build", build,
          "What is measured, for studies of programs: a commit, say. Runs of other builds are kept and "
          "do not count (default: this trainyard's own build)")
      ->type_name("NAME");
}

void add_shard_option(Command& command, std::string& shard) {
  command
      .add_option("--shard", shard,
                  "The K-th of N equal shares of the cells, so that N machines can share the study")
      ->type_name("K/N");
}

study::Plan share_of(study::Plan plan, const std::string& shard) {
  if (shard.empty()) return plan;
  study::Plan share = study::take_shard(plan, study::parse_shard(shard));
  if (share.cells.empty())
    fail(ErrorKind::usage, "--shard {}: the study has {} cells, so this share has none", shard,
         plan.cells.size());
  return share;
}

void add_build_option(Command& command, std::string& build) {
  command
      .add_option("--build", build,
                  "The build whose runs to look at, or the beginning of its name (default: that of the last "
                  "run); builds are never pooled")
      ->type_name("BUILD");
}

study::StudyProgress progress_of_build(const study::Folder& folder, const std::string& build) {
  if (build.empty()) return study::progress_of(folder);
  return study::progress_of(folder, record::find_build(build, record::builds_of(study::runs_of(folder))));
}

std::int64_t report_impossible(const study::Spec& spec, const study::Plan& plan) {
  std::map<std::string, std::int64_t> reasons;
  for (const study::Cell& cell : plan.cells)
    if (!cell.refused.empty()) ++reasons[cell.refused];
  std::int64_t cells = 0;
  for (const auto& [reason, count] : reasons) {
    fmt::print(stderr, "trainyard: {}: {}: {} of {} cells can never run\n", spec.file, reason, count,
               plan.cells.size());
    cells += count;
  }
  return cells;
}

study::Folder folder_of(const study::Spec& spec, const std::filesystem::path& out) {
  // Runs are started with absolute paths: a cluster's job begins in a folder of its own.
  return {std::filesystem::absolute(out.empty() ? std::filesystem::path("results") / spec.name : out)
              .lexically_normal()};
}

study::Folder existing_folder(const std::filesystem::path& path) {
  const study::Folder folder{std::filesystem::absolute(path).lexically_normal()};
  if (!std::filesystem::exists(folder.store()) && std::filesystem::exists(folder.spec()))
    study::make_store(folder);
  if (!std::filesystem::exists(folder.store()))
    fail(ErrorKind::usage, "'{}' is not the folder of a study: there is no {} in it", path.string(),
         folder.store().filename().string());
  return folder;
}

std::vector<std::string> varying_settings(const std::vector<const record::Settings*>& cells) {
  std::map<std::string, std::set<std::string>> values;
  for (const record::Settings* cell : cells)
    for (const auto& [name, value] : *cell) values[name];
  for (auto& [name, seen] : values)
    for (const record::Settings* cell : cells) seen.insert(study::setting_text(*cell, name));
  std::vector<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1) names.push_back(name);
  return names;
}

RunLabels::RunLabels(const std::vector<const record::Settings*>& cells, int replicates)
    : names_(varying_settings(cells)), replicates_(replicates) {
  if (names_.empty()) names_ = {"network", "batch"};
}

std::string RunLabels::of(const record::Settings& settings) const {
  std::vector<std::string> parts;
  for (const std::string& name : names_)
    if (const std::string value = study::setting_text(settings, name); !value.empty())
      parts.push_back(fmt::format("{}={}", name, value));
  return joined(parts, " ");
}

std::string RunLabels::of(const record::Settings& settings, int replicate) const {
  const std::string cell = of(settings);
  if (replicates_ < 2 && !cell.empty()) return cell;
  return fmt::format("{}{}run {}", cell, cell.empty() ? "" : ", ", replicate);
}

std::string RunLabels::with_id(const record::RunRecord& run) const {
  return fmt::format("{} ({})", of(run), run.id);
}

}  // namespace trainyard::cli
