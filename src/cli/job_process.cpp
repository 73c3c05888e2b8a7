#include "cli/job_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/cores.h"
#include "base/error.h"

namespace trainyard::cli {
namespace {

// A pipe holds this much at least: what is written before anybody reads must not be more.
constexpr std::size_t kMostInput = 4096;

[[noreturn]] void become(const std::vector<char*>& words, const cpu_set_t& cores, int input, int log,
                         pid_t parent, int when_we_die) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, when_we_die);
  if (::getppid() != parent) ::_exit(127);  // it went before that took effect
  ::sched_setaffinity(0, sizeof cores, &cores);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvp(words[0], words.data());
  constexpr const char* kMessage = "cannot be started\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, std::strlen(kMessage));
  ::_exit(127);
}

}  // namespace

JobProcess::JobProcess(const std::vector<std::string>& command, const std::string& input,
                       const std::filesystem::path& log, int when_we_die) {
  TRAINYARD_CHECK(input.size() <= kMostInput && !command.empty());
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : process_cores()) CPU_SET(core, &cores);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) fail(ErrorKind::io, "cannot open '{}': {}", log.string(), std::strerror(errno));
  int ends[2] = {-1, -1};
  const bool piped = ::pipe2(ends, O_CLOEXEC) == 0;
  const pid_t parent = ::getpid();
  // Written before there is anybody to read it: a process that ends at once would leave a pipe without a
  // reader, and writing to that kills the writer.
  if (piped && ::write(ends[1], input.data(), input.size()) == static_cast<ssize_t>(input.size()))
    pid_ = ::fork();
  if (pid_ == 0) become(words, cores, ends[0], file, parent, when_we_die);
  const int error = errno;
  ::close(file);
  if (piped) {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  if (pid_ < 0) fail(ErrorKind::io, "cannot start '{}': {}", command.front(), std::strerror(error));
}

JobProcess::~JobProcess() {
  if (end_code()) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<int> JobProcess::end_code() {
  int status = 0;
  if (!end_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    end_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return end_code_;
}

void JobProcess::signal(int number) const {
  if (!end_code_) ::kill(-pid_, number);
}

}  // namespace trainyard::cli
