#include "process/background_child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/cores.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "process/child.h"

namespace trainyard::process {

namespace {

// A pipe holds this much at least: what is written before anybody reads must not be more.
constexpr std::size_t kMostInput = 4096;

}  // namespace

BackgroundChild::BackgroundChild(const std::vector<std::string>& command, const std::string& input,
                                 const std::filesystem::path& log, int when_we_die) {
  TRAINYARD_CHECK(input.size() <= kMostInput && !command.empty());
  const Descriptor file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.number() < 0) fail(ErrorKind::io, "cannot open '{}': {}", log.string(), std::strerror(errno));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  const Descriptor read_end(ends[0]), write_end(ends[1]);
  // Written before there is anybody to read it: a process that ends at once would leave a pipe without a
  // reader, and writing to that kills the writer.
  if (::write(ends[1], input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    fail(ErrorKind::io, "cannot write to a pipe: {}", std::strerror(errno));
  const Child child = start({.command = command,
                             .input = ends[0],
                             .output = file.number(),
                             .error = file.number(),
                             .own_group = true,
                             .default_signals = true,
                             .cores = process_cores(),
                             .death_signal = when_we_die});
  if (child.start_errno != 0)
    fail(ErrorKind::io, "cannot start '{}': {}", command.front(), std::strerror(child.start_errno));
  pid_ = child.pid;
}

BackgroundChild::~BackgroundChild() {
  if (end_code()) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<int> BackgroundChild::end_code() {
  int status = 0;
  if (!end_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_) end_code_ = exit_code_of(status);
  return end_code_;
}

void BackgroundChild::signal(int number) const {
  if (!end_code_) ::kill(-pid_, number);
}

}  // namespace trainyard::process
