#include "study/child.h"

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

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "process/child.h"
#include "process/tree.h"

namespace trainyard::study {
namespace {

constexpr int kStopPollMilliseconds = 100;
constexpr int kMemoryPollMilliseconds = 20;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// True when its processes hold more than they may, which is noted.
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

// Its group. What it started in other groups (mpirun) is ended by its own guard and tidies up, unless there
// is no memory left to wait for that.
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
