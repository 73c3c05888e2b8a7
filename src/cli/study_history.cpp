#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/study.h"
#include "process/run_to_end.h"
#include "record/verdict.h"

namespace trainyard::cli {
namespace {

struct StudyHistoryOptions {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path repository;
  std::string metric = record::kQuietSpeed, bisect_build;
  std::optional<double> accuracy;
  double minimum_effect = record::VerdictOptions().minimum_effect;
  std::size_t last = 0;
  bool json = false;
};

// When the commits of a repository were made, by their full names.
std::map<std::string, double> commit_dates(const std::filesystem::path& repository) {
  const process::CapturedRun git = process::run_captured(
      {.command = {"git", "-C", repository.string(), "log", "--all", "HEAD", "--format=%H %ct"}});
  if (git.start_errno != 0 || git.exit_code != 0)
    fail(ErrorKind::usage, "--repository '{}': git finds no commits there", repository.string());
  std::map<std::string, double> dates;
  std::istringstream lines(git.out);
  std::string commit;
  for (double seconds = 0; lines >> commit >> seconds;) dates[commit] = seconds;
  return dates;
}

std::vector<study::HistorySource> read_sources(const StudyHistoryOptions& options) {
  std::vector<study::HistorySource> sources;
  for (const std::filesystem::path& folder : options.folders)
    sources.push_back({folder.string(), study::runs_of(existing_folder(folder))});
  return sources;
}

int show_history(const StudyHistoryOptions& options) {
  const std::vector<study::HistorySource> sources = read_sources(options);
  std::vector<record::RunRecord> all;
  for (const study::HistorySource& source : sources)
    all.insert(all.end(), source.runs.begin(), source.runs.end());
  const record::Metric metric = record::find_metric(options.metric, options.accuracy, all);
  study::HistoryOptions history{.minimum_effect = options.minimum_effect, .last = options.last};
  if (!options.repository.empty()) history.commit_seconds = commit_dates(options.repository);
  const HistoryReport report{study::make_history(sources, metric, history), metric, options.minimum_effect,
                             options.bisect_build};
  if (report.cells.empty()) fail(ErrorKind::config, "study history: no run has {}", metric.name);
  if (options.json)
    fmt::print("{}\n", json_text(history_json(report)));
  else
    print_history(report);
  return count_regressions(report) > 0 ? 3 : 0;
}

}  // namespace

std::function<int()> declare_study_history(Command& command) {
  const auto options = std::make_shared<StudyHistoryOptions>();
  command
      .add_option("folders", options->folders, "Folders of the study: one with several builds, or several")
      ->required()
      ->type_name("DIR...");
  command
      .add_option("--metric", options->metric,
                  "What to follow, as `compare --metric` takes it: p95_step_seconds, peak_memory_bytes, ...")
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--accuracy", options->accuracy, "Test accuracy, 0 to 1, that seconds_to_accuracy is about")
      ->transform(within(record::NumberRange::real(0, 1)))
      ->type_name("SHARE");
  command.add_option("--minimum-effect", options->minimum_effect, "Smaller steps do not matter")
      ->transform(within(record::NumberRange::real(0, 10)))
      ->capture_default_str();
  command.add_option("--last", options->last, "Only so many of the last builds (default: all)")
      ->transform(within(record::NumberRange::whole(2, 1'000'000)));
  command
      .add_option("--repository", options->repository,
                  "Git repository whose commits the builds are called by: orders them by their dates")
      ->type_name("DIR");
  command
      .add_option("--bisect-build", options->bisect_build,
                  "Command that builds a commit, for the bisect command that is printed (default: this "
                  "project's own; of programs: none)")
      ->type_name("COMMAND");
  command.add_flag("--json", options->json, "One JSON object on standard output (docs/formats/history.md)");
  command.footer(
      "Follows every cell over the builds that it was measured at, finds the builds at which its level "
      "changed,\n"
      "and lists regressions that last, each with the git command that finds its commit. The exit code is 3 "
      "when\n"
      "there is one. `study run` runs a study again for a new build and keeps what it had.\n\n"
      "Examples:\n"
      "  trainyard study history results/smoke\n"
      "  trainyard study history results/smoke --metric p95_step_seconds --last 30 --json");
  return [options] { return show_history(*options); };
}

}  // namespace trainyard::cli
