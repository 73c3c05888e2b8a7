#include "cli/start_workers.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/exit_code.h"
#include "cli/mpirun.h"
#include "cli/train.h"
#include "train/stop_request.h"

namespace trainyard::cli {
namespace {

constexpr int kInterrupted = 130;

// Where rank 0 leaves the record; gone afterwards.
class ResultFolder {
 public:
  ResultFolder() {
    std::string name = std::filesystem::temp_directory_path() / "trainyard-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      fail(ErrorKind::io, "cannot make '{}': {}", name, std::strerror(errno));
    path_ = name;
  }
  ~ResultFolder() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  std::filesystem::path file() const { return path_ / "record.json"; }

 private:
  std::filesystem::path path_;
};

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
  const ResultFolder folder;
  MpiJob job{options.workers.workers, own_words(), {}, options.run.quiet};
  job.words.front() = "worker";
  job.words.insert(job.words.end(), {"--result", folder.file().string()});
  if (!options.out.empty()) job.logs = options.out / "logs";
  const train::StopRequest guard;
  const MpiJobEnd end = run_mpi_job(job);
  if (std::filesystem::exists(folder.file())) {
    const std::string json = read_json(folder.file());
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
