#include "fetch/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"

namespace trainyard::fetch {
namespace {

constexpr auto kTickPeriod = std::chrono::milliseconds(30);

// Ends a child that nobody waited for.
class Reaper {
 public:
  explicit Reaper(pid_t pid) : pid_(pid) {}
  ~Reaper() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // -1 while it runs.
  int poll() {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

// Only calls that are safe between fork and exec in a process with threads.
[[noreturn]] void become(char* const* arguments, const char* folder, const char* log, int error_pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int output = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644), input = ::open("/dev/null", O_RDONLY);
  if (output >= 0 && input >= 0 && ::chdir(folder) == 0) {
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execvp(arguments[0], arguments);
  }
  const int reason = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(error_pipe, &reason, sizeof reason);
  ::_exit(127);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                      const std::filesystem::path& log, const std::function<void()>& tick) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int error_pipe[2];  // closed by a successful exec, else carries errno
  if (::pipe2(error_pipe, O_CLOEXEC) != 0)
    fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  const pid_t pid = ::fork();
  if (pid == 0) become(arguments.data(), folder.c_str(), log.c_str(), error_pipe[1]);
  const int fork_errno = errno;
  ::close(error_pipe[1]);
  ChildResult result;
  if (pid < 0) {
    ::close(error_pipe[0]);
    result.start_errno = fork_errno;
    return result;
  }
  Reaper child(pid);
  ssize_t got = 0;
  do got = ::read(error_pipe[0], &result.start_errno, sizeof result.start_errno);
  while (got < 0 && errno == EINTR);
  ::close(error_pipe[0]);
  if (got > 0) return result;
  while ((result.exit_code = child.poll()) < 0) {
    tick();
    std::this_thread::sleep_for(kTickPeriod);
  }
  return result;
}

}  // namespace trainyard::fetch
