#include "cli/start_workers.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/stop_request.h"
#include "cli/exit_code.h"
#include "cli/mpirun.h"
#include "cli/train.h"
#include "fetch/scratch_folder.h"
#include "train/job_check.h"

namespace trainyard::cli {
namespace {

std::string read_json(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

// What a worker would find wrong, once instead of N times.
void check_first(const TrainCommand& options) {
  check(options);
  to_deployment(options.deployment, options.run.batch);
  to_session(options.run);
  networks::find_network(options.run.network);
}

void check_room_for_workers(const TrainCommand& options, int workers) {
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions session = to_session(options.run);
  session.model.batch = deployment.batch_per_device(options.run.batch);
  const std::string who = fmt::format("--workers {}", options.workers.workers);
  train::check_job(who, {{workers, train::process_bytes()}});  // at once, whatever the network
  train::check_job(who, {{workers, train::worker_bytes(session)}});
}

}  // namespace

int start_workers(const TrainCommand& options) {
  check_first(options);
  MpiJob job{options.workers.workers, own_words(), {}, options.run.quiet, {}};
  place_ranks(job, options.ps.hosts, options.ps.remote_shell);
  check_room_for_workers(options, ranks_here(job));
  const bool first_is_here = job.hosts.empty() || is_this_machine(job.hosts.front());
  if (!first_is_here && options.out.empty())
    fail(ErrorKind::usage, "--hosts '{}': this machine is none of them; give --out, a folder that all see",
         options.ps.hosts.string());
  if (!first_is_here) make_folders(options.out);
  const fetch::ScratchFolder folder(first_is_here ? std::filesystem::temp_directory_path() : options.out,
                                    "trainyard-result-");
  const std::filesystem::path result = folder.path() / "record.json";  // where rank 0 leaves it
  job.words.front() = "worker";
  job.words.insert(job.words.end(), {"--result", result.string()});
  if (!options.out.empty()) job.logs = options.out / "logs";
  const StopRequest guard;
  const MpiJobEnd end = run_mpi_job(job);
  if (std::filesystem::exists(result)) {
    const std::string json = read_json(result);
    return report_training(record::run_record_from_json(json), json, options);
  }
  if (StopRequest::asked()) {
    fmt::print(stderr, "trainyard: interrupted before the first step; nothing was saved\n");
    return kInterrupted;
  }
  const std::string reason =
      end.reason.empty() ? fmt::format("mpirun ended with exit code {}", end.exit_code) : end.reason;
  fail(end.exit_code == kCallerCanMendIt ? ErrorKind::config : ErrorKind::peer, "{}", reason);
}

}  // namespace trainyard::cli
