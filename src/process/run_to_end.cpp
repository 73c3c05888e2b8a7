#include "process/run_to_end.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "process/family.h"

namespace trainyard::process {

namespace {

constexpr std::streamoff kTailBytes = 4096;
constexpr std::size_t kLongestLine = 300;

}  // namespace

std::string last_line_of(const std::filesystem::path& log) {
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file ? std::streamoff(file.tellg()) : 0;
  file.seekg(std::max<std::streamoff>(bytes - kTailBytes, 0));
  std::string last;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    if (!line.empty()) last = line;
  }
  return last.substr(0, kLongestLine);
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
bool is_over_memory(const BoundedRun& options, pid_t pid, ChildEnd& end) {
  if (options.memory_limit_bytes <= 0) return false;
  const std::int64_t bytes = memory_of(tree_of(pid), options.memory_limit_bytes);
  if (bytes <= options.memory_limit_bytes) return false;
  end.over_memory_bytes = bytes;
  end.memory_limit_bytes = options.memory_limit_bytes;
  return true;
}

// Waits until the child ends, or must end. `pidfd` becomes readable when it has ended.
void wait_for_end(const BoundedRun& options, pid_t pid, int pidfd, const std::function<bool()>& stop,
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

// Lets the child save what it has.
void end_politely(pid_t pid, int pidfd, double grace_seconds) {
  ::kill(pid, SIGTERM);
  pollfd ended{pidfd, POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(grace_seconds * 1000));
}

// Kills the child's process group. The child's own guard ends processes in other groups (mpirun) and cleans
// up, unless there is no memory left to wait for that.
void kill_family(pid_t pid, bool at_once) {
  if (at_once)
    for (const pid_t process : tree_of(pid)) ::kill(process, SIGKILL);
  ::kill(-pid, SIGKILL);
}

}  // namespace

ChildEnd run_to_the_end(const BoundedRun& options, const std::function<bool()>& stop) {
  const int made_now = options.log_may_exist ? 0 : O_EXCL;
  const Descriptor log(
      ::open(options.log.c_str(), O_WRONLY | O_CREAT | made_now | O_APPEND | O_CLOEXEC, 0644));
  if (log.number() < 0)
    fail(ErrorKind::io, "cannot make '{}': {}", options.log.string(), std::strerror(errno));
  ChildEnd end;
  const double started = now_seconds();
  const Child child = start({.command = options.command,
                             .environment = options.environment,
                             .output = log.number(),
                             .error = log.number(),
                             .own_group = true,
                             .default_signals = true});
  end.start_errno = child.start_errno;
  if (end.start_errno != 0) return end;
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  wait_for_end(options, child.pid, pidfd.number(), stop, started, end);
  if (end.stopped && options.grace_seconds > 0)
    end_politely(child.pid, pidfd.number(), options.grace_seconds);
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
  if (options.grace_seconds > 0 && WIFEXITED(status) && end.exit_code == 0) end.stopped = false;
  end.user_seconds = seconds_of(usage.ru_utime);
  end.system_seconds = seconds_of(usage.ru_stime);
  end.peak_resident_bytes = usage.ru_maxrss * 1024;
  return end;
}

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
    return exit_code_of(status);
  }

 private:
  pid_t pid_;
};

}  // namespace

ChildResult run_with_ticks(const std::vector<std::string>& command, const std::filesystem::path& folder,
                           const std::filesystem::path& log, const std::function<void()>& tick) {
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (output.number() < 0) fail(ErrorKind::io, "cannot open '{}': {}", log.string(), std::strerror(errno));
  const Child started =
      start({.command = command, .folder = folder, .output = output.number(), .error = output.number()});
  ChildResult result{.start_errno = started.start_errno};
  if (result.start_errno != 0) return result;
  Reaper child(started.pid);
  while ((result.exit_code = child.poll()) < 0) {
    tick();
    std::this_thread::sleep_for(kTickPeriod);
  }
  return result;
}

namespace {

// The destructor closes both ends, whatever happens.
struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    ::close(ends[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writer() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  int ends[2];
};

void read_all(const Pipe& out, std::string& out_text, const Pipe& err, std::string& err_text) {
  std::array<pollfd, 2> waiting{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
  const std::array<std::string*, 2> texts{&out_text, &err_text};
  std::array<char, 65536> block;
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
      fail(ErrorKind::io, "cannot wait for a program: {}", std::strerror(errno));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      const ssize_t got = ::read(waiting[i].fd, block.data(), block.size());
      if (got > 0) texts[i]->append(block.data(), static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR)) waiting[i].fd = -1;
    }
  }
}

}  // namespace

CapturedRun run_captured(ChildOptions options) {
  Pipe out, err;
  options.output = out.ends[1];
  options.error = err.ends[1];
  const Child child = start(options);
  CapturedRun result{.start_errno = child.start_errno};
  if (result.start_errno != 0) return result;
  out.close_writer();
  err.close_writer();
  read_all(out, result.out, err, result.err);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = exit_code_of(status);
  return result;
}

}  // namespace trainyard::process
