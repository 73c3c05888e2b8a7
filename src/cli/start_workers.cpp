#include "cli/start_workers.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/exit_code.h"
#include "cli/mpirun.h"
#include "cli/train.h"
#include "fetch/scratch_folder.h"
#include "train/stop_request.h"

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

}  // namespace

int start_workers(const TrainCommand& options) {
  check_first(options);
  const fetch::ScratchFolder folder(std::filesystem::temp_directory_path(), "trainyard-result-");
  const std::filesystem::path result = folder.path() / "record.json";  // where rank 0 leaves it
  MpiJob job{options.workers.workers, own_words(), {}, options.run.quiet};
  job.words.front() = "worker";
  job.words.insert(job.words.end(), {"--result", result.string()});
  if (!options.out.empty()) job.logs = options.out / "logs";
  const train::StopRequest guard;
  const MpiJobEnd end = run_mpi_job(job);
  if (std::filesystem::exists(result)) {
    const std::string json = read_json(result);
    return report_training(record::run_record_from_json(json), json, options);
  }
  if (train::StopRequest::asked()) {
    fmt::print(stderr, "trainyard: interrupted before the first step; nothing was saved\n");
    return kInterrupted;
  }
  const std::string reason =
      end.reason.empty() ? fmt::format("mpirun ended with exit code {}", end.exit_code) : end.reason;
  fail(end.exit_code == kCallerCanMendIt ? ErrorKind::config : ErrorKind::peer, "{}", reason);
}

}  // namespace trainyard::cli
