#include "study/run/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/units.h"
#include "process/child.h"
#include "process/tree.h"

namespace trainyard::study {

namespace {

using record::Status;

constexpr std::streamoff kTailBytes = 4096;
constexpr std::size_t kLongestReason = 300;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string without_our_name(const std::string& line) {
  constexpr std::string_view kPrefix = "trainyard: ";
  return line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
}

EndStatus status_of_signal(const ChildEnd& end, const std::string& last_line, long out_of_memory_kills) {
  if (end.signal == SIGKILL && out_of_memory_kills > 0)
    return {Status::oom, fmt::format("killed by the kernel for want of memory, at {} resident",
                                     format_bytes(end.peak_resident_bytes))};
  if (has(last_line, "std::bad_alloc")) return {Status::oom, "out of memory: std::bad_alloc"};
  return {Status::crash, fmt::format("ended by signal {} ({}){}{}", end.signal, ::strsignal(end.signal),
                                     last_line.empty() ? "" : ": ", last_line)};
}

// Our own commands tell in their exit code who must act, and in one line what happened.
EndStatus status_of_exit(int code, const std::string& kind, const std::string& last_line) {
  const std::string said = without_our_name(last_line);
  if (kind != "program") {
    if (has(last_line, "out of memory")) return {Status::oom, said};
    if (says_not_a_number(last_line)) return {Status::nan, said};
    if (has(last_line, "loss diverged")) return {Status::diverged, said};
    if (code == 1) return {Status::refused, said};
    if (code == 130) return {Status::interrupted, said};
  }
  return {Status::failed, fmt::format("exit code {}{}{}", code, said.empty() ? "" : ": ", said)};
}

}  // namespace

bool says_not_a_number(const std::string& line) {
  return has(line, "loss became") || has(line, "is not finite");
}

EndStatus status_of_end(const ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills) {
  if (end.start_errno != 0)
    return {Status::refused, fmt::format("cannot be started: {}", std::strerror(end.start_errno))};
  if (end.timed_out)
    return {Status::timeout,
            fmt::format("killed at its time limit, after {}", format_seconds(end.wall_seconds))};
  if (end.over_memory_bytes > 0)
    return {Status::oom,
            fmt::format("killed at its memory limit of {}: its processes held {}",
                        format_bytes(end.memory_limit_bytes), format_bytes(end.over_memory_bytes))};
  if (end.stopped) return {Status::interrupted, "the study was interrupted"};
  if (end.signal != 0) return status_of_signal(end, last_line, out_of_memory_kills);
  if (end.exit_code != 0) return status_of_exit(end.exit_code, kind, last_line);
  return {};
}

std::string last_line_of(const std::filesystem::path& log) {
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file ? std::streamoff(file.tellg()) : 0;
  file.seekg(std::max<std::streamoff>(bytes - kTailBytes, 0));
  std::string last;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    if (!line.empty()) last = line;
  }
  return last.substr(0, kLongestReason);
}

long out_of_memory_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (long count = 0; counters >> name >> count;)
    if (name == "oom_kill") return count;
  return 0;
}

namespace {

constexpr int kStopPollMilliseconds = 100;
constexpr int kMemoryPollMilliseconds = 20;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Returns true, and notes it, when the child's processes hold more memory than they may.
bool is_over_memory(const ChildOptions& options, pid_t pid, ChildEnd& end) {
  if (options.memory_limit_bytes <= 0) return false;
  const std::int64_t bytes = process::memory_of(process::tree_of(pid), options.memory_limit_bytes);
  if (bytes <= options.memory_limit_bytes) return false;
  end.over_memory_bytes = bytes;
  end.memory_limit_bytes = options.memory_limit_bytes;
  return true;
}

// Waits until the child ends, or must end. `pidfd` becomes readable when it has ended.
void wait_for_end(const ChildOptions& options, pid_t pid, int pidfd, const std::function<bool()>& stop,
                  double started, ChildEnd& end) {
  for (;;) {
    int milliseconds = options.memory_limit_bytes > 0 ? kMemoryPollMilliseconds : kStopPollMilliseconds;
    if (options.time_limit_seconds > 0) {
      const double left = options.time_limit_seconds - (now_seconds() - started);
      if (left <= 0) return void(end.timed_out = true);
      milliseconds = std::min(milliseconds, static_cast<int>(left * 1000) + 1);
    }
    pollfd ended{pidfd, POLLIN, 0};
    if (::poll(&ended, 1, milliseconds) > 0) return;
    if (stop()) return void(end.stopped = true);
    if (is_over_memory(options, pid, end)) return;
  }
}

// Kills the child's process group. The child's own guard ends processes in other groups (mpirun) and cleans
// up, unless there is no memory left to wait for that.
void kill_family(pid_t pid, bool at_once) {
  if (at_once)
    for (const pid_t process : process::tree_of(pid)) ::kill(process, SIGKILL);
  ::kill(-pid, SIGKILL);
}

}  // namespace

ChildEnd run_to_the_end(const ChildOptions& options, const std::function<bool()>& stop) {
  const int made_now = options.log_may_exist ? 0 : O_EXCL;
  const Descriptor log(
      ::open(options.log.c_str(), O_WRONLY | O_CREAT | made_now | O_APPEND | O_CLOEXEC, 0644));
  if (log.number() < 0)
    fail(ErrorKind::io, "cannot make '{}': {}", options.log.string(), std::strerror(errno));
  ChildEnd end;
  const double started = now_seconds();
  const process::Child child = process::start({.command = options.command,
                                               .environment = options.environment,
                                               .output = log.number(),
                                               .error = log.number(),
                                               .own_group = true,
                                               .default_signals = true});
  end.start_errno = child.start_errno;
  if (end.start_errno != 0) return end;
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  wait_for_end(options, child.pid, pidfd.number(), stop, started, end);
  if (end.timed_out || end.stopped || end.over_memory_bytes > 0)
    kill_family(child.pid, end.over_memory_bytes > 0);
  int status = 0;
  rusage usage{};
  while (::wait4(child.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ::kill(-child.pid, SIGKILL);  // what it left behind in its group
  end.wall_seconds = now_seconds() - started;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.user_seconds = seconds_of(usage.ru_utime);
  end.system_seconds = seconds_of(usage.ru_stime);
  end.peak_resident_bytes = usage.ru_maxrss * 1024;
  return end;
}

}  // namespace trainyard::study
