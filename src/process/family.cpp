#include "process/family.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>

#include "base/error.h"
#include "base/mutex.h"
#include "process/bare_process.h"

namespace trainyard::process {

namespace {

// A child belongs to the thread that started it.
void add_children_of(pid_t parent, std::vector<pid_t>& found) {
  std::error_code code;
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", parent), code);
  for (; !code && task != std::filesystem::directory_iterator(); task.increment(code)) {
    std::ifstream file(task->path() / "children");
    for (pid_t child = 0; file >> child;) found.push_back(child);
  }
}

std::int64_t resident_bytes(pid_t process) {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::int64_t size = 0, pages = 0;
  return file >> size >> pages ? pages * page : 0;
}

// Each page divided by the number of processes that have it (PSS).
std::int64_t proportional_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", process));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::stoll(line.substr(4)) * 1024;
  return resident_bytes(process);
}

}  // namespace

std::vector<pid_t> tree_of(pid_t root) {
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) add_children_of(found[i], found);
  return found;
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0 || errno == EPERM; }

std::int64_t memory_of(const std::vector<pid_t>& processes, std::int64_t enough) {
  std::int64_t resident = 0, proportional = 0;
  for (const pid_t process : processes) resident += resident_bytes(process);
  if (resident <= enough) return resident;
  for (const pid_t process : processes) proportional += proportional_bytes(process);
  return proportional;
}

namespace {

constexpr int kLooksPerSecond = 20;
constexpr int kMostSeconds = 30;  // what survives SIGKILL so long waits for a device

struct DirectoryEntry {  // as getdents64 fills it
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// A mark has the form "NAME=mark", as in an environment; the mark of all children of a process is a prefix of
// each child's mark.
struct Mark {
  char text[96];
  int length = 0;

  explicit Mark(const std::string& mark) {
    const std::string whole = fmt::format("{}={}", kMarkVariable, mark);
    TRAINYARD_CHECK(whole.size() < sizeof text);
    length = static_cast<int>(whole.size());
    std::memcpy(text, whole.data(), whole.size());
  }
};

int number_of(const char* text) {
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return *text == '\0' ? number : 0;
}

// /proc/PID/environ: variables that end in zero bytes.
bool carries(int process, const Mark& mark) {
  char path[32] = "/proc/", digits[12], text[4096];
  int count = 0, at = 6;
  for (int rest = process; rest > 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) path[at++] = digits[--count];
  for (const char* name = "/environ"; *name != '\0'; ++name) path[at++] = *name;
  path[at] = '\0';
  const int file = bare::open_file(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool found = false;
  int matched = 0;  // characters of this variable, or -1: it is another one
  for (long bytes; !found && (bytes = bare::read_some(file, text, sizeof text)) > 0;) {
    for (long i = 0; i < bytes && !found; ++i) {
      if (text[i] == '\0') {
        matched = 0;
      } else if (matched >= 0) {
        matched = text[i] == mark.text[matched] ? matched + 1 : -1;
        found = matched == mark.length;
      }
    }
  }
  bare::close_file(file);
  return found;
}

// Sends the signal to all processes that carry the mark and returns their number.
int signal_marked(const Mark& mark, int signal) {
  alignas(DirectoryEntry) char entries[4096];
  const int self = static_cast<int>(bare::call(SYS_getpid));
  const int folder = bare::open_file("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int found = 0;
  for (long bytes;
       (bytes = bare::call(SYS_getdents64, folder, bare::address(entries), sizeof entries)) > 0;) {
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      at += entry->length;
      const int process = number_of(entry->name);
      if (process <= 1 || process == self || !carries(process, mark)) continue;
      ++found;
      bare::call(SYS_kill, process, signal);
      bare::call(SYS_kill, process, SIGCONT);  // it may be stopped
    }
  }
  bare::close_file(folder);
  return found;
}

void end_all(const Mark& mark) {
  const timespec pause{0, 1'000'000'000 / kLooksPerSecond};
  for (int look = 0; look < kMostSeconds * kLooksPerSecond; ++look) {
    const bool asked = look > 0;
    const int signal = look >= kSecondsToEnd * kLooksPerSecond ? SIGKILL : asked ? 0 : SIGTERM;
    if (signal_marked(mark, signal) == 0) return;
    bare::call(SYS_nanosleep, bare::address(&pause), 0);
  }
}

// The guard reads `pipe`, which ends when nobody holds its other end; only the watched process holds it.
[[noreturn]] void guard(int pipe, const Mark& mark) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP})
    ::sigaction(signal, &ignore, nullptr);
  ::prctl(PR_SET_NAME, "trainyard-guard");
  ::prctl(PR_SET_PDEATHSIG, 0);
  [[maybe_unused]] const int ignored = ::chdir("/");
  const int null = ::open("/dev/null", O_RDWR);
  for (int number = 0; number < 3; ++number) ::dup2(null, number);
  ::dup2(pipe, 3);
  ::syscall(SYS_close_range, 4U, ~0U, 0U);
  bare::drop_memory(&mark, sizeof mark);
  char byte = 0;
  while (bare::read_some(3, &byte, 1) == -EINTR) {
  }
  end_all(mark);
  bare::leave(0);
}

std::string random_mark() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits)
    fail(ErrorKind::io, "getrandom failed: {}", std::strerror(errno));
  return fmt::format("{:016x}.", bits);
}

// The guard is a grandchild, so that a wait for any child does not report its end. Returns the end of the
// pipe that this process keeps open for as long as it lives.
int fork_guard(const Mark& mark) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  const pid_t between = ::fork();
  if (between == 0) {
    ::setsid();
    const pid_t watcher = ::fork();
    if (watcher != 0) ::_exit(watcher < 0);
    ::close(ends[1]);
    guard(ends[0], mark);
  }
  const int error = errno;
  ::close(ends[0]);
  int status = 1;
  if (between > 0)
    while (::waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
  if (status == 0) return ends[1];
  ::close(ends[1]);
  fail(ErrorKind::io, "cannot start a guard of child processes: {}",
       std::strerror(between < 0 ? error : EAGAIN));
}

// This state belongs to this process; a forked copy inherits none of it.
struct Family {
  Mutex mutex;
  pid_t owner TRAINYARD_GUARDED_BY(mutex) = 0;
  int pipe TRAINYARD_GUARDED_BY(mutex) = -1;
  std::string mark TRAINYARD_GUARDED_BY(mutex);
  unsigned children TRAINYARD_GUARDED_BY(mutex) = 0;

  void guard() TRAINYARD_REQUIRES(mutex) {
    const pid_t self = ::getpid();
    if (owner == self) return;
    if (pipe >= 0) ::close(pipe);  // the original's
    pipe = -1;
    mark = random_mark();
    pipe = fork_guard(Mark(mark));
    owner = self;
  }
};

Family& family() {
  static Family one;
  return one;
}

}  // namespace

void start_guard() {
  Family& own = family();
  const MutexLock lock(own.mutex);
  own.guard();
}

std::string next_mark() {
  Family& own = family();
  const MutexLock lock(own.mutex);
  own.guard();
  return fmt::format("{}{}.", own.mark, own.children++);
}

void end_marked(const std::string& mark) { end_all(Mark(mark)); }

}  // namespace trainyard::process
