#include "data/get/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "process/child.h"

namespace trainyard::data {

namespace {

constexpr auto kTickPeriod = std::chrono::milliseconds(30);

// Ends a child that no caller has waited for.
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

  // Returns -1 while the child runs.
  int poll() {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return -1;
    pid_ = -1;
    return process::exit_code_of(status);
  }

 private:
  pid_t pid_;
};

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                      const std::filesystem::path& log, const std::function<void()>& tick) {
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (output.number() < 0) fail(ErrorKind::io, "cannot open '{}': {}", log.string(), std::strerror(errno));
  const process::Child started = process::start(
      {.command = command, .folder = folder, .output = output.number(), .error = output.number()});
  ChildResult result{.start_errno = started.start_errno};
  if (result.start_errno != 0) return result;
  Reaper child(started.pid);
  while ((result.exit_code = child.poll()) < 0) {
    tick();
    std::this_thread::sleep_for(kTickPeriod);
  }
  return result;
}

}  // namespace trainyard::data
