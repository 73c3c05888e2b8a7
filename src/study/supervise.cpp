#include "study/supervise.h"

#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/node_name.h"
#include "base/units.h"
#include "meter/clock_pin.h"
#include "meter/gpu_watch.h"
#include "meter/provenance.h"
#include "meter/quiet.h"
#include "study/child.h"
#include "study/end_status.h"
#include "study/places.h"
#include "study/resource_use.h"
#include "study/side_commands.h"

namespace trainyard::study {
namespace {

namespace fs = std::filesystem;

// With the paths that only this machine knows, as the texts are meant.
Job with_paths(Job job, const Folder& folder, const fs::path& record) {
  const auto fill = [&](std::string& text) {
    text =
        without_doubled_braces(fill_places(text, [&](const std::string& name) -> std::optional<std::string> {
          if (name == "record") return record.string();
          if (name == "folder") return folder.path.string();
          return std::nullopt;
        }));
  };
  for (std::string& word : job.command) fill(word);
  for (std::string& path : job.outputs) fill(path);
  for (auto& [name, value] : job.environment) fill(value);
  for (std::vector<Command>* commands : {&job.setup, &job.cleanup})
    for (Command& command : *commands)
      for (std::string& word : command) fill(word);
  return job;
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

// What stands in the record of a run before its child is started.
void keep_what_was_before(record::RunRecord& before, record::RunRecord& run) {
  run.details.merge(before.details);
  run.figures.merge(before.figures);
  run.words.merge(before.words);
  run.warnings.insert(run.warnings.begin(), before.warnings.begin(), before.warnings.end());
}

// False: `stop` came while it waited.
bool wait_for_quiet(const Job& job, const meter::Nvml* nvml, const std::function<bool()>& stop,
                    record::RunRecord& run) {
  const double at_most = job.wait_for_quiet_seconds;
  if (at_most <= 0) return true;
  const meter::QuietWait wait = meter::wait_until_quiet(at_most, stop, meter::SystemFiles(), nvml);
  run.figures["quiet_wait_seconds"] = wait.waited_seconds;
  if (wait.quiet) return true;
  if (stop()) return false;
  run.warnings.push_back(
      {"busy", fmt::format("not quiet within {}: {}", format_seconds(at_most), wait.reason)});
  return true;
}

void note_clocks(const meter::ClockPin& pin, record::RunRecord& run) {
  const std::string pinned = pin.pinned();
  if (!pinned.empty()) run.words["clocks"] = pinned;
  if (pin.refused().empty()) return;
  run.warnings.push_back(
      {"clocks", fmt::format("{}: {}", pinned.empty() ? "no clock was pinned" : "not all clocks were pinned",
                             fmt::join(pin.refused(), "; "))});
}

// The run itself, after its set-up.
void run_child(const Job& job, const Folder& folder, const fs::path& own_record,
               const std::function<bool()>& stop, record::RunRecord& run) {
  for (const std::string& path : job.outputs) make_folders(fs::path(path).parent_path());
  std::optional<meter::GpuActivity> gpus;
  if (job.resources.gpus_per_node > 0) gpus.emplace();
  const long kills_before = out_of_memory_kills();
  const double started = wall_seconds();
  const ChildEnd end = run_to_the_end({.command = job.command,
                                       .environment = job.environment,
                                       .log = folder.log(job.run_id),
                                       .time_limit_seconds = job.time_limit_seconds,
                                       .memory_limit_bytes = job.memory_limit_bytes},
                                      stop);
  EndStatus status = status_of_end(end, job.kind, last_line_of(folder.log(job.run_id)),
                                   out_of_memory_kills() - kills_before);
  std::string complaint;
  record::RunRecord left = record_left_by_child(own_record, complaint);
  keep_what_was_before(run, left);
  run = std::move(left);
  const bool left_one = run.started_seconds > 0 || run.statistics.steps > 0;
  if (status.status == record::Status::ok && job.kind != "program" && !left_one)
    status = {record::Status::failed, complaint.empty() ? "left no record" : complaint};
  if (status.status == record::Status::ok && left_one) status = {run.status, run.reason};
  run.status = status.status;
  run.reason = status.reason;
  run.exit_code = end.signal != 0 ? 128 + end.signal : end.exit_code;
  run.started_seconds = started;
  run.wall_seconds = end.wall_seconds;
  add_process_figures(end, run);
  check_use(job, run);
  if (gpus) check_gpus(job, gpus->finish(), run);
}

}  // namespace

record::RunRecord supervise(const Job& asked, const Folder& folder, const std::function<bool()>& stop,
                            const std::function<void(record::RunRecord&)>& amend) {
  const fs::path own_record = folder.logs() / (asked.run_id + ".child.json");
  const Job job = with_paths(asked, folder, own_record);
  record::RunRecord run;
  {
    const CleanupNote note(job, folder);
    run.started_seconds = wall_seconds();
    bool stopped = false;
    const std::string obstacle = run_setup(job, folder, stop, run, stopped);
    const bool looks_at_gpus =
        job.resources.gpus_per_node > 0 && (job.wait_for_quiet_seconds > 0 || job.pin_clocks);
    const std::unique_ptr<meter::Nvml> nvml = looks_at_gpus ? meter::Nvml::open() : nullptr;
    if (obstacle.empty()) stopped = !wait_for_quiet(job, nvml.get(), stop, run);
    if (obstacle.empty() && !stopped) {
      std::optional<meter::ClockPin> pin;
      if (job.pin_clocks) note_clocks(pin.emplace(folder.logs(), job.run_id, nvml.get()), run);
      run_child(job, folder, own_record, stop, run);
    } else {
      run.status = stopped ? record::Status::interrupted : record::Status::refused;
      run.reason = stopped ? "the study was interrupted" : obstacle;
      run.wall_seconds = wall_seconds() - run.started_seconds;
    }
    run_cleanup(job, folder, run);
  }
  identify(run, job);
  if (run.node.empty()) run.node = node_name();
  if (run.provenance.empty()) run.provenance = meter::find_machine();
  check_clock(folder, run);
  if (amend) amend(run);
  record::write_run_record(run, folder.record(job.run_id));
  std::error_code ignored;
  fs::remove(own_record, ignored);
  return run;
}

}  // namespace trainyard::study
