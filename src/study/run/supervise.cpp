#include "study/run/supervise.h"

#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "meter/clock_pin.h"
#include "meter/gpu_watch.h"
#include "meter/noise.h"
#include "meter/provenance.h"
#include "process/family.h"
#include "study/run/progress.h"
#include "study/spec/places.h"

namespace trainyard::study {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNoteEnding = ".cleanup.json";

fs::path log_of(const Job& job, const Folder& folder, const char* what) {
  return folder.logs() / fmt::format("{}.{}.log", job.run_id, what);
}

// Formats the command as a person would write it: the shell's text, or the words.
std::string text_of(const Command& command) {
  const bool of_shell = command.size() == 3 && command[0] == "/bin/sh" && command[1] == "-c";
  return of_shell ? command[2] : joined(command, " ");
}

std::string how_it_ended(const process::ChildEnd& end, const std::string& last_line) {
  if (end.start_errno != 0) return fmt::format("cannot be started: {}", std::strerror(end.start_errno));
  if (end.timed_out) return fmt::format("killed at its limit, after {}", format_seconds(end.wall_seconds));
  if (end.stopped) return "interrupted";
  const std::string said = last_line.empty() ? "" : ": " + last_line;
  if (end.signal != 0) return fmt::format("ended by signal {}{}", end.signal, said);
  return end.exit_code == 0 ? "" : fmt::format("exit code {}{}", end.exit_code, said);
}

struct SideEnd {
  std::string why;  // it failed; empty: it did not
  bool stopped = false;
};

SideEnd run_command(const Job& job, const Command& command, const fs::path& log, double limit_seconds,
                    const std::function<bool()>& stop, Json& ends) {
  const process::ChildEnd end = process::run_to_the_end({.command = command,
                                                         .environment = job.environment,
                                                         .log = log,
                                                         .log_may_exist = true,
                                                         .time_limit_seconds = limit_seconds},
                                                        stop);
  const std::string last_line = process::last_line_of(log), why = how_it_ended(end, last_line);
  ends.push_back({{"command", text_of(command)},
                  {"exit_code", end.signal != 0 ? 128 + end.signal : end.exit_code},
                  {"seconds", end.wall_seconds},
                  {"last_line", last_line},
                  {"failed", why.empty() ? Json(nullptr) : Json(why)}});
  return {why, end.stopped};
}

void keep(record::DetailName what, const Json& ends, record::RunRecord& run) {
  if (!ends.empty()) run.details[what] = json_text(ends);
}

}  // namespace

std::string run_setup(const Job& job, const Folder& folder, const std::function<bool()>& stop,
                      record::RunRecord& run, bool& stopped) {
  Json ends = Json::array();
  std::string reason;
  for (const Command& command : job.setup) {
    const SideEnd end =
        run_command(job, command, log_of(job, folder, "setup"), job.setup_limit_seconds, stop, ends);
    stopped = end.stopped;
    if (end.why.empty()) continue;
    reason = fmt::format("set-up '{}': {}", text_of(command), end.why);
    break;
  }
  keep("setup", ends, run);
  return reason;
}

void run_cleanup(const Job& job, const Folder& folder, record::RunRecord& run) {
  Json ends = Json::array();
  for (const Command& command : job.cleanup) {
    const SideEnd end = run_command(
        job, command, log_of(job, folder, "cleanup"), job.cleanup_limit_seconds, [] { return false; }, ends);
    if (!end.why.empty())
      run.warnings.push_back({"cleanup", fmt::format("clean-up '{}': {}", text_of(command), end.why)});
  }
  keep("cleanup", ends, run);
}

CleanupNote::CleanupNote(const Job& job, const Folder& folder) {
  if (job.cleanup.empty()) return;
  file_ = folder.logs() / (job.run_id + kNoteEnding);
  AtomicFile file(file_);
  file.write(json_text(Json{{"node", node_name()}, {"process", ::getpid()}, {"job", to_json(job)}}) + "\n");
  file.commit();
}

CleanupNote::~CleanupNote() {
  std::error_code ignored;
  if (!file_.empty()) fs::remove(file_, ignored);
}

int run_owed_cleanups(const Folder& folder) {
  if (!fs::is_directory(folder.logs())) return 0;
  std::vector<fs::path> notes;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.logs()))
    if (entry.path().string().ends_with(kNoteEnding)) notes.push_back(entry.path());
  std::sort(notes.begin(), notes.end());
  int done = 0;
  for (const fs::path& file : notes) {
    const std::vector<std::byte> bytes = read_file(file);
    const auto note =
        parse_json_or_discard(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (!note.is_object() || !note.contains("job") || note.value("node", "") != node_name()) continue;
    if (process::is_alive(note.value("process", pid_t{0}))) continue;
    record::RunRecord of_nobody;  // the run was lost; what failed stands in the log
    run_cleanup(job_from_json(note["job"].get<std::string>()), folder, of_nobody);
    std::error_code ignored;
    fs::remove(file, ignored);
    ++done;
  }
  return done;
}

namespace {

namespace fs = std::filesystem;

// Fills in the paths that only this machine knows, and resolves doubled braces.
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

// Returns the record that the child left, or an empty one when there is none that can be read.
record::RunRecord record_left_by_child(const fs::path& path, std::string& complaint) {
  if (!fs::exists(path)) return {};
  try {
    return record::read_run_record(path);
  } catch (const Error& error) {
    complaint = error.what();
    return {};
  }
}

// Files carry wall-clock times: when the newest record is later than now, one of the two clocks is wrong.
void check_clock(const Folder& folder, record::RunRecord& run) {
  constexpr double kTolerance = 2;  // seconds: file systems round
  std::error_code missing;
  const auto newest = fs::last_write_time(folder.records(), missing);
  if (missing) return;
  const double ahead = std::chrono::duration<double>(newest - fs::file_time_type::clock::now()).count();
  if (ahead > kTolerance)
    run.warnings.push_back({"clock", fmt::format("the clock stands {:.0f} s before the last record", ahead)});
}

void add_process_figures(const process::ChildEnd& end, record::RunRecord& run) {
  const double cpu_seconds = end.user_seconds + end.system_seconds;
  run.figures["process_cpu_seconds"] = cpu_seconds;
  run.figures.emplace("peak_memory_bytes", end.peak_resident_bytes);
  if (end.wall_seconds > 0) run.figures.emplace("cores_used", cpu_seconds / end.wall_seconds);
}

// Copies the entries that the record had before its child was started.
void keep_what_was_before(record::RunRecord& before, record::RunRecord& run) {
  run.details.any().merge(before.details.any());
  run.figures.any().merge(before.figures.any());
  run.words.any().merge(before.words.any());
  run.warnings.insert(run.warnings.begin(), before.warnings.begin(), before.warnings.end());
}

// Returns false when `stop` came while it waited.
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
                             joined(pin.refused(), "; "))});
}

// Runs the job itself, after its set-up.
void run_child(const Job& job, const Folder& folder, const fs::path& own_record,
               const std::function<bool()>& stop, record::RunRecord& run) {
  for (const std::string& path : job.outputs) make_folders(fs::path(path).parent_path());
  std::optional<meter::GpuActivity> gpus;
  if (job.resources.gpus_per_node > 0) gpus.emplace();
  const long kills_before = process::out_of_memory_kills();
  const double started = wall_seconds();
  const process::ChildEnd end = process::run_to_the_end({.command = job.command,
                                                         .environment = job.environment,
                                                         .log = folder.log(job.run_id),
                                                         .time_limit_seconds = job.time_limit_seconds,
                                                         .memory_limit_bytes = job.memory_limit_bytes,
                                                         .grace_seconds = job.grace_seconds},
                                                        stop);
  record::EndStatus status =
      record::status_of_end(end, job.kind, process::last_line_of(folder.log(job.run_id)),
                            process::out_of_memory_kills() - kills_before);
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
