#include "process/child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>

#include "base/cores.h"
#include "base/file.h"
#include "process/bare_process.h"
#include "process/family.h"

namespace trainyard::process {

namespace {

constexpr int kNotStarted = 127;

std::vector<std::string> environment_of(const ChildOptions& options, const std::string& mark) {
  std::map<std::string, std::string> more = options.environment;
  if (!mark.empty()) more[kMarkVariable] = mark;
  std::vector<std::string> variables;
  const auto add = [&](const std::string& variable) {
    if (!more.contains(variable.substr(0, variable.find('=')))) variables.push_back(variable);
  };
  if (options.whole_environment) {
    for (const std::string& variable : *options.whole_environment) add(variable);
  } else {
    for (char** variable = ::environ; *variable != nullptr; ++variable) add(*variable);
  }
  for (const auto& [name, value] : more) variables.push_back(name + "=" + value);
  return variables;
}

// Holds the arguments of execve in a mapping of its own, which outlives the memory of the process.
class Program {
 public:
  Program(const std::string& file, const std::vector<std::string>& command,
          const std::vector<std::string>& environment) {
    // The array leaves room before the words for a shell: a file without an interpreter line is a shell
    // script.
    std::size_t pointers = 1 + command.size() + 1 + environment.size() + 1, text = file.size() + 1;
    for (const auto* const list : {&command, &environment})
      for (const std::string& word : *list) text += word.size() + 1;
    bytes_ = pointers * sizeof(char*) + text;
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    words_ = static_cast<char**>(memory);
    environment_ = words_ + 1 + command.size() + 1;
    char* at = reinterpret_cast<char*>(words_ + pointers);
    const auto keep = [&](const std::string& word) {
      std::memcpy(at, word.c_str(), word.size() + 1);
      char* const begin = at;
      at += word.size() + 1;
      return begin;
    };
    file_ = keep(file);
    for (std::size_t i = 0; i < command.size(); ++i) words_[1 + i] = keep(command[i]);
    for (std::size_t i = 0; i < environment.size(); ++i) environment_[i] = keep(environment[i]);
  }
  ~Program() { ::munmap(words_, bytes_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Only a forked copy calls this. Returns errno.
  int exec() const {
    bare::drop_memory(words_, bytes_);
    const auto run = [&](const char* file, char** words) {
      return -static_cast<int>(
          bare::call(SYS_execve, bare::address(file), bare::address(words), bare::address(environment_)));
    };
    const int reason = run(file_, words_ + 1);
    if (reason != ENOEXEC) return reason;
    char shell[] = "/bin/sh";
    words_[0] = shell;
    words_[1] = file_;
    return run(shell, words_);
  }

 private:
  char **words_ = nullptr, **environment_ = nullptr;  // arrays that end in a null
  char* file_ = nullptr;
  std::size_t bytes_ = 0;
};

void redirect(int from, int to) {
  if (from < 0) from = ::open("/dev/null", (to == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
  if (from == to)
    ::fcntl(from, F_SETFD, 0);
  else
    ::dup2(from, to);
}

// This function runs between fork and exec, so it makes only calls that are safe there.
[[noreturn]] void become(const ChildOptions& options, const Program& program, const cpu_set_t* cores,
                         pid_t parent, int error_pipe) {
  if (options.own_group) ::setpgid(0, 0);
  if (!options.outlives_us) {
    ::prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (::getppid() != parent) ::_exit(kNotStarted);  // it died before the line above
  }
  if (cores != nullptr) ::sched_setaffinity(0, sizeof *cores, cores);
  if (options.default_signals)
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  if (options.signal_mask != nullptr) ::sigprocmask(SIG_SETMASK, options.signal_mask, nullptr);
  // A descriptor whose number another one will take is moved away first.
  const int output =
      options.output >= 0 && options.output < STDOUT_FILENO ? ::dup(options.output) : options.output;
  int error = options.error;
  if (error >= 0 && error < STDERR_FILENO) error = ::dup(error);
  redirect(options.input, STDIN_FILENO);
  redirect(output, STDOUT_FILENO);
  redirect(error, STDERR_FILENO);
  if (options.inherited >= 0) ::fcntl(options.inherited, F_SETFD, 0);
  int reason = 0;
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) reason = errno;
  if (reason == 0) reason = program.exec();
  bare::write_some(error_pipe, &reason, sizeof reason);
  bare::leave(kNotStarted);
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "/bin:/usr/bin" : path;
  int reason = ENOENT;
  for (std::size_t begin = 0; begin <= folders.size() && !name.empty();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin),
                      file = folder.empty() ? name : folder + "/" + name;
    begin = end + 1;
    std::error_code missing;
    if (!std::filesystem::exists(file, missing) || std::filesystem::is_directory(file, missing)) continue;
    if (::access(file.c_str(), X_OK) == 0) return file;
    reason = EACCES;
  }
  errno = reason;
  return "";
}

Child start(const ChildOptions& options) {
  Child child;
  const std::string file = find_program(options.command.front());
  if (file.empty()) {
    child.start_errno = errno;
    return child;
  }
  if (!options.outlives_us) child.mark = next_mark();
  const Program program(file, options.command, environment_of(options, child.mark));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : options.cores) CPU_SET(core, &cores);
  int ends[2];  // closed by a successful exec, else carries errno
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    child.start_errno = errno;
    return child;
  }
  Descriptor read_end(ends[0]), write_end(ends[1]);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid == 0) become(options, program, options.cores.empty() ? nullptr : &cores, parent, ends[1]);
  if (child.pid < 0) {
    child.start_errno = errno;
    return child;
  }
  if (options.own_group) ::setpgid(child.pid, child.pid);  // also here: whoever comes first
  write_end.close();
  while (::read(read_end.number(), &child.start_errno, sizeof child.start_errno) < 0 && errno == EINTR) {
  }
  if (child.start_errno == 0) return child;
  while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  child.pid = -1;
  return child;
}

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.erase(words.begin());
  return words;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::config:
    case ErrorKind::shape:
    case ErrorKind::unsupported:
      return kCallerCanMendIt;
    case ErrorKind::io:
    case ErrorKind::peer:
    case ErrorKind::device:
    case ErrorKind::internal:
      return kRunFailed;
    case ErrorKind::interrupted:
      return kInterrupted;
  }
  return kRunFailed;
}

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

int run_in_copy(const std::function<int()>& body, unsigned seconds) {
  const pid_t parent = ::getpid(), copy = ::fork();
  if (copy == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kNotStarted);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGABRT, SIGALRM, SIGTERM})
      ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    redirect(-1, STDOUT_FILENO);
    redirect(-1, STDERR_FILENO);
    ::alarm(seconds);
    int code = 1;
    try {
      code = body();
    } catch (const std::exception&) {
    }
    ::_exit(code);
  }
  if (copy < 0) return kNotStarted;
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

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
