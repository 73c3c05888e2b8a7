#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/run_options.h"
#include "cli/study.h"
#include "cli/study_bar.h"
#include "process/stop_request.h"
#include "study/cell/check.h"
#include "study/run/run_study.h"
#include "study/slurm/launcher.h"

namespace trainyard::cli {
namespace {

constexpr int kIncomplete = 2;

struct StudyRunOptions {
  std::filesystem::path file, out;
  std::vector<std::string> overrides;
  std::string launcher = "local", retry, shard, build, wait_for_quiet;
  std::optional<int> retry_disturbed;
  CostOptions cost;
  bool pin_clocks = false, skip_impossible = false, json = false, quiet = false;
};

// Prints a line for each run when there is no terminal for a bar.
void print_run(const record::RunRecord& run, const RunLabels& labels) {
  const std::string what =
      run.images_per_second ? fmt::format("{:.0f} images/s", *run.images_per_second) : "";
  print_note(fmt::format("{:<11} {}  {}{}\n", name(run.status), labels.with_id(run),
                         what.empty() ? run.reason : what,
                         run.warnings.empty() ? "" : fmt::format("  ({} warnings)", run.warnings.size())));
}

std::unique_ptr<study::Launcher> make_launcher(const StudyRunOptions& options, const study::Spec& spec,
                                               const study::Folder& folder, const study::Watcher& watcher) {
  if (study::to_where(options.launcher, spec) == study::Where::this_machine)
    return std::make_unique<study::LocalLauncher>(folder);
  study::slurm::LauncherOptions slurm;
  slurm.submit = {process::own_program(), std::filesystem::current_path(), spec.at_once};
  slurm.say = watcher.remarks;
  return std::make_unique<study::slurm::SlurmLauncher>(folder, slurm);
}

// "about 12 min 3 s for 24 runs (by the model m.json)"; "" where nothing is known of them.
std::string expected_text(const study::RunsCost& cost, const study::CostModel* model) {
  if (cost.known() == 0) return "";
  const bool by_model = model != nullptr && cost.predicted == cost.known();
  return fmt::format("about {} for {}{} runs ({})", format_seconds(cost.seconds),
                     cost.unknown > 0 ? fmt::format("{} of ", cost.known()) : "", cost.runs(),
                     by_model ? "by the model " + model->file : cost.sources());
}

study::StudyProgress run(const StudyRunOptions& options, const study::Spec& spec, const study::Plan& plan,
                         const study::Folder& folder, const study::CostModel* model) {
  const bool bar_visible = ::isatty(STDERR_FILENO) != 0 && !options.quiet;
  const study::Where where = study::to_where(options.launcher, spec);
  const study::Estimates estimates = estimate_cells(spec, plan, folder, model);
  std::unique_ptr<StudyBar> bar;
  bool said = false;
  std::vector<const record::Settings*> cells;
  for (const study::Cell& cell : plan.cells) cells.push_back(&cell.settings);
  const RunLabels labels(cells, spec.replicates);
  const study::Watcher watcher{
      .begins = [&](std::int64_t runs) { bar = std::make_unique<StudyBar>(spec.name, runs, options.quiet); },
      .finished =
          [&](const record::RunRecord& run) {
            if (bar_visible)
              bar->finished(run, fmt::format("{} {}", name(run.status), labels.of(run)));
            else if (!options.quiet)
              print_run(run, labels);
          },
      .remarks = [](const std::string& remark) { print_note(fmt::format("trainyard: {}\n", remark)); },
      .stop = [] { return process::StopRequest::asked(); }};
  ShownLauncher launcher(
      make_launcher(options, spec, folder, watcher), [&](std::span<const study::Job> jobs) {
        bar->begin(study::TimeLeft(estimates, jobs), where);
        // Repeats of disturbed runs come in further rounds.
        if (std::exchange(said, true) || bar_visible || options.quiet) return;
        const std::string text = expected_text(study::cost_of_runs(estimates, jobs, where), model);
        if (!text.empty()) watcher.remarks(text);
      });
  study::RetryPolicy retry = study::parse_retry_policy(options.retry);
  retry.disturbed = spec.retry_disturbed;
  return run_study({spec, plan, folder, retry, process::own_program()}, launcher, watcher);
}

// Returns the file, with what the command line says instead of it.
study::Spec read_spec_of(const StudyRunOptions& options) {
  study::Spec spec = read_study(options.file, options.overrides, options.build);
  if (!options.wait_for_quiet.empty()) study::override_wait_for_quiet(spec, options.wait_for_quiet);
  spec.pin_clocks = spec.pin_clocks || options.pin_clocks;
  spec.retry_disturbed = options.retry_disturbed.value_or(spec.retry_disturbed);
  return spec;
}

int run_study_command(const StudyRunOptions& options) {
  const study::Spec spec = read_spec_of(options);
  const std::unique_ptr<study::CostModel> model = read_cost_model(options.cost);
  const study::Plan plan =
      share_of(study::make_plan(spec, study::cell_check(spec, study::to_where(options.launcher, spec))),
               options.shard);
  for (const std::string& remark : plan.remarks) print_note(fmt::format("trainyard: {}\n", remark));
  if (report_impossible(spec, plan) > 0 && !options.skip_impossible)
    fail(ErrorKind::config,
         "{}: nothing was started; --skip-impossible records those cells as refused and runs the rest",
         spec.file);
  const study::Folder folder = folder_of(spec, options.out);
  check_output_folder(folder.path);
  const process::StopRequest guard;
  study::StudyProgress progress = run(options, spec, plan, folder, model.get());
  if (process::StopRequest::asked()) study::slurm::note_in_flight(folder, progress);  // they go on
  if (options.json)
    fmt::print("{}\n", json_text(progress_json(progress)));
  else
    print_progress(progress);
  if (process::StopRequest::asked()) {
    print_note("trainyard: interrupted; the same command goes on\n");
    return kInterrupted;
  }
  return progress.done() == progress.expected() ? 0 : kIncomplete;
}

}  // namespace

std::function<int()> declare_study_run(Command& command) {
  const auto options = std::make_shared<StudyRunOptions>();
  add_study_options(command, options->file, options->out, options->overrides);
  add_shard_option(command, options->shard);
  command.add_option("--launcher,-l", options->launcher, "Where runs go: local, or slurm for its queue")
      ->capture_default_str();
  command
      .add_option("--retry", options->retry,
                  "Failures to try again: failed, nan, diverged, oom, timeout, refused, all")
      ->type_name("STATUS,...");
  command
      .add_option(
          "--retry-disturbed", options->retry_disturbed,
          "How often a run that something disturbed is repeated; all are kept, the first undisturbed one "
          "counts")
      ->transform(within(record::NumberRange::whole(0, study::kMostDisturbedRetries)));
  add_measured_build_option(command, options->build);
  command
      .add_option("--wait-for-quiet", options->wait_for_quiet,
                  "Before each run, wait at most so long (90s, 15m, 3h) until nothing else keeps the machine "
                  "busy; then run all the same, with a warning")
      ->type_name("TIME");
  command.add_flag(
      "--pin-clocks", options->pin_clocks,
      "During each run, hold the clocks of CPUs and GPUs where this is allowed (as root, mostly)");
  command.add_flag("--skip-impossible", options->skip_impossible,
                   "Record cells that can never run as refused");
  add_cost_options(command, options->cost);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options->quiet, "No progress bar, no line a run");
  command.footer(
      "Done runs are skipped, so a study that was killed goes on where it stopped. Runs that crashed or "
      "were\n"
      "cancelled are tried again. Exit code 2 when some run of the matrix is not done.\n"
      "With --shard only that share is expected and run; without it later, in the same folder, the rest.\n\n"
      "Examples:\n"
      "  trainyard study run studies/smoke.yaml\n"
      "  trainyard study run studies/smoke.yaml --retry timeout,oom --json");
  return [options] { return run_study_command(*options); };
}

}  // namespace trainyard::cli
