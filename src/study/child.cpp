#include "study/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
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

namespace trainyard::study {
namespace {

constexpr int kStopPollMilliseconds = 100;

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!more.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : more) variables.push_back(name + "=" + value);
  return variables;
}

// Between fork and exec: nothing but calls that are safe there.
[[noreturn]] void become(const ChildOptions& options, char* const* arguments, char* const* environment,
                         int log, int error_pipe, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  if (options.memory_limit_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(options.memory_limit_bytes);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvpe(arguments[0], arguments, environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(error_pipe, &reason, sizeof reason);
  ::_exit(127);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Waits until the child ends, or must end. `pidfd` becomes readable when it has ended.
void wait_for_end(const ChildOptions& options, int pidfd, const std::function<bool()>& stop, double started,
                  ChildEnd& end) {
  for (;;) {
    int milliseconds = kStopPollMilliseconds;
    if (options.time_limit_seconds > 0) {
      const double left = options.time_limit_seconds - (now_seconds() - started);
      if (left <= 0) return void(end.timed_out = true);
      milliseconds = std::min(milliseconds, static_cast<int>(left * 1000) + 1);
    }
    pollfd ended{pidfd, POLLIN, 0};
    if (::poll(&ended, 1, milliseconds) > 0) return;
    if (stop()) return void(end.stopped = true);
  }
}

}  // namespace

ChildEnd run_to_the_end(const ChildOptions& options, const std::function<bool()>& stop) {
  const std::vector<std::string> variables = environment_with(options.environment);
  const std::vector<char*> arguments = pointers_to(options.command), environment = pointers_to(variables);
  Descriptor log(::open(options.log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (log.number() < 0)
    fail(ErrorKind::io, "cannot make '{}': {}", options.log.string(), std::strerror(errno));
  int ends[2];  // closed by a successful exec, else carries errno
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  Descriptor read_end(ends[0]), write_end(ends[1]);

  ChildEnd end;
  const double started = now_seconds();
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) become(options, arguments.data(), environment.data(), log.number(), ends[1], parent);
  if (pid < 0) {
    end.start_errno = errno;
    return end;
  }
  ::setpgid(pid, pid);  // also here: whoever comes first
  write_end.close();
  log.close();
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  while (::read(read_end.number(), &end.start_errno, sizeof end.start_errno) < 0 && errno == EINTR) {
  }
  if (end.start_errno == 0) wait_for_end(options, pidfd.number(), stop, started, end);
  if (end.timed_out || end.stopped) ::kill(-pid, SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ::kill(-pid, SIGKILL);  // what it left behind in its group
  end.wall_seconds = now_seconds() - started;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.user_seconds = seconds_of(usage.ru_utime);
  end.system_seconds = seconds_of(usage.ru_stime);
  end.peak_resident_bytes = usage.ru_maxrss * 1024;
  return end;
}

}  // namespace trainyard::study
