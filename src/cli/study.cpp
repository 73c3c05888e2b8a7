#include "cli/commands.h"

#include <map>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/study_options.h"
#include "cli/study_results.h"
#include "study/slurm/command.h"
#include "study/slurm/launcher.h"

namespace trainyard::cli {

namespace {

struct StudyCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(CLI::App&);
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

std::function<int()> declare_study(CLI::App& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const CLI::App*, std::function<int()>>>();
  for (const StudyCommand& row : kStudyCommands) {
    CLI::App* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "A study is a matrix of runs in a YAML file (docs/formats/study.md). Its folder keeps every run there "
      "ever\n"
      "was; a study that was killed goes on where it stopped.\n\n"
      "Examples:\n"
      "  trainyard study plan studies/batch-sweep.yaml\n"
      "  trainyard study run studies/smoke.yaml");
  return [runs, &command] { return runs->at(command.get_subcommands().front())(); };
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
    fmt::print("{}\n", progress_json(progress).dump());
  else
    print_progress(progress);
  return 0;
}

}  // namespace

std::function<int()> declare_study_status(CLI::App& command) {
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

std::function<int()> declare_study_cancel(CLI::App& command) {
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
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} runs taken in, {} of them known only from Slurm's states\n", taken_in, made);
    print_progress(progress);
  }
  return 0;
}

}  // namespace

std::function<int()> declare_study_collect(CLI::App& command) {
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

std::function<int()> declare_study_exec(CLI::App& command) {
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

}  // namespace trainyard::cli
