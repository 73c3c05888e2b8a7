#include "study/supervise.h"

#include <unistd.h>

#include <array>
#include <chrono>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "study/child.h"
#include "study/end_status.h"

namespace trainyard::study {
namespace {

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<std::string> with_record_path(std::vector<std::string> command, const fs::path& path) {
  constexpr std::string_view kPlace = "{record}";
  for (std::string& word : command)
    if (const std::size_t at = word.find(kPlace); at != std::string::npos)
      word.replace(at, kPlace.size(), path.string());
  return command;
}

// What the child says of itself, or an empty record when it left none that can be read.
record::RunRecord record_left_by_child(const fs::path& path, std::string& complaint) {
  if (!fs::exists(path)) return {};
  try {
    return record::read_run_record(path);
  } catch (const Error& error) {
    complaint = error.what();
    return {};
  }
}

// Files carry the wall clock's time: when the newest record is of a later time than now, one of the two is
// wrong.
void check_clock(const Folder& folder, record::RunRecord& run) {
  constexpr double kTolerance = 2;  // seconds: file systems round
  std::error_code missing;
  const auto newest = fs::last_write_time(folder.records(), missing);
  if (missing) return;
  const double ahead = std::chrono::duration<double>(newest - fs::file_time_type::clock::now()).count();
  if (ahead > kTolerance)
    run.warnings.push_back({"clock", fmt::format("the clock stands {:.0f} s before the last record", ahead)});
}

void add_process_figures(const ChildEnd& end, record::RunRecord& run) {
  const double cpu_seconds = end.user_seconds + end.system_seconds;
  run.figures["process_cpu_seconds"] = cpu_seconds;
  run.figures.emplace("peak_memory_bytes", end.peak_resident_bytes);
  if (end.wall_seconds > 0) run.figures.emplace("cores_used", cpu_seconds / end.wall_seconds);
}

}  // namespace

record::RunRecord supervise(const Job& job, const Folder& folder, const std::function<bool()>& stop,
                            const std::function<void(record::RunRecord&)>& amend) {
  const fs::path own_record = folder.logs() / (job.run_id + ".child.json");
  const double started = wall_seconds();
  const long kills_before = out_of_memory_kills();
  const ChildEnd end = run_to_the_end({.command = with_record_path(job.command, own_record),
                                       .environment = job.environment,
                                       .log = folder.log(job.run_id),
                                       .time_limit_seconds = job.time_limit_seconds,
                                       .memory_limit_bytes = job.memory_limit_bytes},
                                      stop);
  EndStatus status = status_of_end(end, job.kind, last_line_of(folder.log(job.run_id)),
                                   out_of_memory_kills() - kills_before);
  std::string complaint;
  record::RunRecord run = record_left_by_child(own_record, complaint);
  const bool left_one = run.started_seconds > 0 || run.statistics.steps > 0;
  if (status.status == record::Status::ok && job.kind != "program" && !left_one)
    status = {record::Status::failed, complaint.empty() ? "left no record" : complaint};
  if (status.status == record::Status::ok && left_one) status = {run.status, run.reason};
  run.status = status.status;
  run.reason = status.reason;
  identify(run, job);
  run.exit_code = end.signal != 0 ? 128 + end.signal : end.exit_code;
  if (run.node.empty()) run.node = host_name();
  run.started_seconds = started;
  run.wall_seconds = end.wall_seconds;
  add_process_figures(end, run);
  check_clock(folder, run);
  if (amend) amend(run);
  record::write_run_record(run, folder.record(job.run_id));
  std::error_code ignored;
  fs::remove(own_record, ignored);
  return run;
}

}  // namespace trainyard::study
