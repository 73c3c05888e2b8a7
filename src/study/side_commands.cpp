#include "study/side_commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/node_name.h"
#include "base/units.h"
#include "process/tree.h"
#include "study/child.h"
#include "study/end_status.h"

namespace trainyard::study {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kNoteEnding = ".cleanup.json";

fs::path log_of(const Job& job, const Folder& folder, const char* what) {
  return folder.logs() / fmt::format("{}.{}.log", job.run_id, what);
}

// As a person would write it: a shell's text, or the words.
std::string text_of(const Command& command) {
  const bool of_shell = command.size() == 3 && command[0] == "/bin/sh" && command[1] == "-c";
  return of_shell ? command[2] : fmt::format("{}", fmt::join(command, " "));
}

std::string how_it_ended(const ChildEnd& end, const std::string& last_line) {
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
  const ChildEnd end = run_to_the_end({.command = command,
                                       .environment = job.environment,
                                       .log = log,
                                       .log_may_exist = true,
                                       .time_limit_seconds = limit_seconds},
                                      stop);
  const std::string last_line = last_line_of(log), why = how_it_ended(end, last_line);
  ends.push_back({{"command", text_of(command)},
                  {"exit_code", end.signal != 0 ? 128 + end.signal : end.exit_code},
                  {"seconds", end.wall_seconds},
                  {"last_line", last_line},
                  {"failed", why.empty() ? Json(nullptr) : Json(why)}});
  return {why, end.stopped};
}

void keep(const char* what, const Json& ends, record::RunRecord& run) {
  if (!ends.empty()) run.details[what] = ends.dump(-1, ' ', false, Json::error_handler_t::replace);
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
  file.write(Json{{"node", node_name()}, {"process", ::getpid()}, {"job", to_json(job)}}.dump() + "\n");
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
    const auto note = Json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                  nullptr, false);
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

}  // namespace trainyard::study
