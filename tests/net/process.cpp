#include "net/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"

namespace trainyard::net_test {

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

namespace {

struct ProcessStat {
  std::string name;
  char state = '?';
  pid_t parent = -1;
  double cpu_seconds = 0;
};

// proc(5). None: there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  // The name stands in brackets, and may have brackets and blanks itself.
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return {};
  ProcessStat stat{.name = line.substr(open + 1, close - open - 1)};
  std::istringstream rest(line.substr(close + 1));
  rest >> stat.state >> stat.parent;
  std::string ignored;
  for (int field = 5; field < 14; ++field) rest >> ignored;
  double user = 0, system = 0;
  rest >> user >> system;
  stat.cpu_seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return stat;
}

int work_in_child(const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace

std::string Exit::to_string() const {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit {}", code);
}

Process::Process(const std::vector<std::string>& command, std::filesystem::path output)
    : output_(std::move(output)) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  start([&] {
    ::execvp(arguments[0], arguments.data());
    return 127;
  });
}

Process::Process(const std::function<int()>& work, std::filesystem::path output)
    : output_(std::move(output)) {
  start(work);
}

void Process::start(const std::function<int()>& work) {
  // Whoever loses its parent comes to us, so that processes_left() sees it.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) fail(ErrorKind::io, "cannot start a process");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (::getppid() != parent || file < 0) ::_exit(126);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  const int code = work_in_child(work);
  std::fflush(nullptr);
  ::_exit(code);
}

Process::~Process() { kill(); }

void Process::signal(int number) {
  if (!exit_) ::kill(pid_, number);
}

void Process::kill() {
  signal(SIGKILL);
  wait(60);
}

void Process::stop() {
  signal(SIGSTOP);
  while (runs()) {
    const auto stat = stat_of(pid_);
    if (stat && stat->state == 'T') return;
    sleep_for(0.0005);
  }
}

void Process::resume() { signal(SIGCONT); }

std::optional<Exit> Process::wait(double seconds) {
  const double deadline = now_seconds() + seconds;
  while (!exit_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_)
      exit_ = WIFSIGNALED(status) ? Exit{0, WTERMSIG(status)} : Exit{WEXITSTATUS(status), 0};
    else if (now_seconds() >= deadline)
      break;
    else
      sleep_for(0.001);
  }
  return exit_;
}

std::string Process::output() const {
  std::ostringstream text;
  text << std::ifstream(output_, std::ios::binary).rdbuf();
  return text.str();
}

double Process::cpu_seconds() const {
  const auto stat = exit_ ? std::nullopt : stat_of(pid_);
  return stat ? stat->cpu_seconds : 0;
}

double cpu_share(const Process& process, double seconds) {
  const double before = process.cpu_seconds(), began = now_seconds();
  sleep_for(seconds);
  return (process.cpu_seconds() - before) / (now_seconds() - began);
}

std::vector<std::string> processes_left() {
  std::map<pid_t, ProcessStat> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size())
      continue;
    if (const auto stat = stat_of(pid)) all[pid] = *stat;
  }
  const auto is_below_us = [&](pid_t pid) {
    // Bounded, as processes may have changed while they were read.
    for (std::size_t i = 0; i < all.size() && all.contains(pid); ++i)
      if ((pid = all[pid].parent) == ::getpid()) return true;
    return false;
  };
  std::vector<std::string> left;
  for (const auto& [pid, stat] : std::map(all))
    if (is_below_us(pid)) left.push_back(fmt::format("{} {} {}", pid, stat.name, stat.state));
  return left;
}

}  // namespace trainyard::net_test
