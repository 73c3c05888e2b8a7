#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "base/cores.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/ensemble.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "comm/collective/mpi_job.h"
#include "data/get/scratch_folder.h"
#include "data/recipe/recipe.h"
#include "engine/checkpoint.h"
#include "ensemble/member.h"
#include "ensemble/preprocessor.h"
#include "ensemble/step_note.h"
#include "ensemble/stream_part.h"
#include "launch/train_job.h"

namespace trainyard::cli {
namespace {

using ensemble::Design;

// Watts of a machine that does nothing; 0: not asked for, or not known.
double idle_power(double seconds) {
  if (seconds <= 0) return 0;
  meter::EnergyMeter meter;
  const double began = now_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return meter.read().joules() / (now_seconds() - began);
}

// The energy of what runs while this lives; looks often enough that no counter begins anew unseen.
class EnergyWatch {
 public:
  EnergyWatch() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

  ensemble::EnsembleUse finish(double idle_watts) {
    thread_.request_stop();
    thread_.join();
    ensemble::EnsembleUse use{.energy = energy_, .seconds = now_seconds() - began_, .idle_watts = idle_watts};
    if (looks_ > 0) use.gpu_busy_fraction = busy_ / looks_;
    return use;
  }

 private:
  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      sleep_unless_stopped(stop, 0.25);
      energy_ = meter_.read();
      if (const auto busy = meter_.gpu_busy_fraction()) {
        busy_ += *busy;
        ++looks_;
      }
    }
  }

  meter::EnergyMeter meter_;
  const double began_ = now_seconds();
  meter::Energy energy_;
  double busy_ = 0;
  int looks_ = 0;
  std::jthread thread_;
};

int report_ensemble(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
                    const std::filesystem::path& results, const run::RunStart& start,
                    const ensemble::EnsembleUse& use = {}) {
  const ensemble::EnsembleParts parts = ensemble::read_parts(results, spec);
  const record::RunRecord summary = summarize(parts, spec, options, start, use);
  if (!options.out.empty()) record::write_run_record(summary, options.out / "ensemble.json");
  if (!options.record.empty()) record::write_run_record(summary, options.record);
  if (options.json)
    fmt::print("{}\n", to_json(summary));
  else
    print_ensemble(parts, summary);
  if (summary.status == record::Status::diverged) {
    std::fflush(stdout);  // in a log of both, this is the last line
    fmt::print(stderr, "trainyard: {}\n", summary.reason);
    return kRunFailed;
  }
  if (summary.status != record::Status::interrupted) return 0;
  fmt::print(stderr, "trainyard: interrupted; {}\n",
             options.out.empty() ? "nothing was saved: no --out was given"
                                 : "the same command with --resume goes on");
  return kInterrupted;
}

void forget_all_results(const std::filesystem::path& results, const ensemble::EnsembleSpec& spec) {
  std::error_code ignored;
  std::filesystem::remove(results / ensemble::kPreprocessorRecord, ignored);
  for (int i = 0; i < static_cast<int>(spec.members.size()); ++i) ensemble::forget_results(results, i);
}

// mpirun or srun started this program on every rank.
int run_in_allocation(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
                      const run::RunStart& start) {
  if (options.out.empty())
    fail(ErrorKind::usage, "started by mpirun or srun: give --out, a folder that all see");
  if (spec.design == Design::shared_memory)
    fail(ErrorKind::usage,
         "design shared-memory starts its processes itself: start it without mpirun or srun");
  if (spec.patience.then == ensemble::Lost::drop)
    fail(ErrorKind::usage,
         "--lost drop: mpirun and srun end a job when a rank is lost; start it without them");
  if (comm::collective::mpi_job_ranks() != static_cast<int>(spec.members.size()))
    fail(ErrorKind::usage, "{} ranks for {} members: give as many", comm::collective::mpi_job_ranks(),
         spec.members.size());
  const auto job = comm::collective::join_mpi_job();
  ensemble::EnsemblePart part;
  part.results = options.out;
  if (job->rank() == 0) forget_all_results(options.out, spec);  // no member is through before all have met
  const int code = ensemble::run_member_as_rank(options, part, *job, *terminal_progress(false));
  // One may be evaluated for longer than members wait for samples; a rank that is lost ends the job anyway.
  constexpr double kNoEnd = 1e9;
  const auto everybody = job->make_group(ensemble::ranks_between(0, job->size()), kNoEnd);
  gather(*everybody, code);  // then all records are there
  return job->rank() == 0 ? report_ensemble(options, spec, options.out, start) : code;
}

// One member's checkpoint is enough: a run killed early may have left none of others.
void want_checkpoints(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec) {
  if (!options.resume.is_given() || options.resume.is_auto()) return;
  for (int i = 0; i < static_cast<int>(spec.members.size()); ++i)
    if (engine::latest_checkpoint(ensemble::member_folder(options.out, i))) return;
  fail(ErrorKind::config, "--resume: no checkpoint of any member in '{}'; --resume=auto would begin then",
       options.out.string());
}

int run_ensemble(const ensemble::EnsembleOptions& options) {
  const run::RunStart start;
  const ensemble::EnsembleSpec spec = to_ensemble(options);
  if (options.seconds > 0 && !options.rate) fail(ErrorKind::usage, "--seconds: only with --rate");
  want_checkpoints(options, spec);
  to_stream(spec);  // what is wrong with data and preprocessing is said once, not by every process
  if (comm::collective::mpi_job_ranks() > 0) return run_in_allocation(options, spec, start);
  if (const auto present = data::renamed_recipe(spec.preprocess.name); present && !options.quiet)
    fmt::print(stderr, "trainyard: preprocessing '{}' of encoded images is called '{}' now\n",
               spec.preprocess.name, *present);
  const data::ScratchFolder scratch(std::filesystem::temp_directory_path(), "trainyard-ensemble-");
  const std::filesystem::path results = options.out.empty() ? scratch.path() : options.out;
  forget_all_results(results, spec);
  const double idle_watts = idle_power(options.idle_seconds);
  EnergyWatch watch;
  {
    const ensemble::EnsembleProgress progress(results, spec.members.size(), terminal_progress(options.quiet));
    launch::run_ensemble_job(options, spec, results, terminal_progress(false));
  }
  return report_ensemble(options, spec, results, start, watch.finish(idle_watts));
}

}  // namespace

std::function<int()> declare_ensemble_run(Command& command) {
  const auto options = std::make_shared<ensemble::EnsembleOptions>();
  add_ensemble_options(command, *options);
  command.footer(
      "Starts a process for each member, with mpirun unless they share memory; under mpirun or srun it is "
      "itself one\n"
      "of them. Ctrl-C ends all after the current step, with checkpoints, and exit code 130.\n\n"
      "Examples:\n"
      "  trainyard ensemble run studies/ensemble-photos.yaml --out runs/two\n"
      "  trainyard ensemble run studies/ensemble-photos.yaml --design baseline --rate 500 --members 2 "
      "--record base.json");
  return [options, &command] {
    warn_of_idle_options(command, {{options->out.empty(), {"--overwrite"}, "nothing is kept without --out"},
                                   {options->rate.has_value(), {"--no-eval"}, "--rate trains nothing"}});
    if (options->cores > 0) limit_process_cores(options->cores);
    return run_ensemble(*options);
  };
}

std::function<int()> declare_ensemble_member(Command& command) {
  const auto options = std::make_shared<ensemble::EnsembleOptions>();
  const auto part = std::make_shared<ensemble::EnsemblePart>();
  add_ensemble_options(command, *options);
  leave_outputs_to_starter(command);
  add_ensemble_part(command, *part);
  return [options, part] {
    if (part->results.empty()) fail(ErrorKind::usage, "--results is required");
    if (!part->stream.empty())
      return ensemble::run_member_in_place(*options, *part, terminal_progress(false));
    const auto job = comm::collective::join_mpi_job();
    return ensemble::run_member_as_rank(*options, *part, *job, *terminal_progress(false));
  };
}

std::function<int()> declare_ensemble_preprocess(Command& command) {
  const auto options = std::make_shared<ensemble::EnsembleOptions>();
  const auto part = std::make_shared<ensemble::EnsemblePart>();
  add_ensemble_options(command, *options);
  leave_outputs_to_starter(command);
  add_ensemble_part(command, *part);
  return [options, part] {
    if (part->results.empty() || part->announce.empty())
      fail(ErrorKind::usage, "--results and --announce are required");
    ensemble::run_preprocessor(*options, *part, *terminal_progress(false));
    return 0;
  };
}

}  // namespace trainyard::cli
