#include "meter/profile_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "meter/nvml.h"
#include "meter/pace.h"
#include "meter/resource_sampler.h"
#include "meter/tree_meter.h"

namespace trainyard::meter {
namespace {

Descriptor made(int number, const char* what) {
  if (number < 0) fail(ErrorKind::io, "profile: cannot make {}: {}", what, std::strerror(errno));
  return Descriptor(number);
}

// While it lives, these signals wait to be read. Those that were ignored when it began (nohup) stay so.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      ::sigaction(signal, nullptr, &now);
      if (now.sa_handler != SIG_IGN) sigaddset(&held_, signal);
    }
    sigaddset(&held_, SIGCHLD);
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;  // ignored, it would take exit codes away
    ::sigaction(SIGCHLD, &plain, &child_before_);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() {
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& held() const { return held_; }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t held_{}, before_{};
  struct sigaction child_before_ {};
};

// Between fork and exec: nothing but calls that are safe there.
[[noreturn]] void become(char* const* arguments, const sigset_t& mask, bool to_stderr, int error_pipe,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  if (to_stderr) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments);
  const int reason = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(error_pipe, &reason, sizeof reason);
  ::_exit(127);
}

// Its number, or why it could not be started.
std::pair<pid_t, int> start(const ProfileOptions& options, const sigset_t& mask) {
  std::vector<char*> arguments;
  for (const std::string& word : options.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];  // closed by a successful exec, else carries errno
  if (::pipe2(ends, O_CLOEXEC) != 0) return {-1, errno};
  Descriptor read_end(ends[0]), write_end(ends[1]);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) become(arguments.data(), mask, options.output_to_stderr, ends[1], parent);
  if (pid < 0) return {-1, errno};
  write_end.close();
  int reason = 0;
  while (::read(read_end.number(), &reason, sizeof reason) < 0 && errno == EINTR) {
  }
  if (reason != 0) ::waitpid(pid, nullptr, 0);
  return {pid, reason};
}

itimerspec every(double hz) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long period = std::lround(1e9 / hz);
  itimerspec timer{{period / 1'000'000'000, period % 1'000'000'000}, now};
  timer.it_value.tv_sec += (now.tv_nsec + period) / 1'000'000'000;
  timer.it_value.tv_nsec = (now.tv_nsec + period) % 1'000'000'000;
  return timer;
}

// One profile as it is made.
class Profiling {
 public:
  explicit Profiling(const ProfileOptions& options)
      : options_(options),
        nvml_(options.gpus ? Nvml::open() : nullptr),
        sampler_(tree_, nvml_.get()),
        signals_(made(::signalfd(-1, &held_.held(), SFD_CLOEXEC | SFD_NONBLOCK), "a descriptor of signals")),
        timer_(made(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "a timer")) {}

  CommandProfile run();

 private:
  void sample(bool last = false);
  void read_signals();
  void reap();
  void interrupt(const signalfd_siginfo& signal);
  void kill_all();

  const ProfileOptions& options_;
  const HeldSignals held_;
  TreeMeter tree_;
  const std::unique_ptr<Nvml> nvml_;
  ResourceSampler sampler_;
  const Descriptor signals_, timer_;
  CommandProfile profile_;
  pid_t command_ = -1;
  double started_ = 0;
  bool command_ended_ = false, all_ended_ = false, killing_ = false;
};

CommandProfile Profiling::run() {
  started_ = now_seconds();
  const double cpu_before = thread_cpu_seconds();
  sampler_.sample(0);
  std::tie(command_, profile_.start_errno) = start(options_, held_.before());
  if (profile_.start_errno != 0) return std::move(profile_);
  const itimerspec timer = every(options_.hz);
  ::timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &timer, nullptr);
  while (!all_ended_) {
    pollfd ready[] = {{signals_.number(), POLLIN, 0}, {timer_.number(), POLLIN, 0}};
    ::poll(ready, 2, -1);
    if (ready[0].revents != 0) read_signals();
    std::uint64_t due = 0;
    if (all_ended_ || ::read(timer_.number(), &due, sizeof due) != sizeof due) continue;
    // One that comes right after a late one would tell of too short a time.
    const bool too_soon = now_seconds() - started_ - sampler_.last_seconds() < 0.5 / options_.hz;
    profile_.missed_samples += static_cast<std::int64_t>(due) - (too_soon ? 0 : 1);
    if (!too_soon) sample();
    if (killing_) kill_all();  // also what was started meanwhile
  }
  if (now_seconds() - started_ - sampler_.last_seconds() < 0.5 / options_.hz) sampler_.forget_last();
  sample(true);
  profile_.wall_seconds = now_seconds() - started_;
  profile_.user_seconds = tree_.user_seconds();
  profile_.system_seconds = tree_.system_seconds();
  profile_.sampler_cpu_seconds = thread_cpu_seconds() - cpu_before;
  profile_.trace = sampler_.take();
  profile_.peak_resident_bytes = static_cast<double>(tree_.largest_process_bytes());
  for (const double bytes : profile_.trace.find("resident_bytes")->values)
    profile_.peak_resident_bytes = std::max(profile_.peak_resident_bytes, bytes);
  return std::move(profile_);
}

void Profiling::sample(bool last) {
  sampler_.sample(now_seconds() - started_, last);
  if (!options_.watch) return;
  options_.watch({now_seconds() - started_, sampler_.latest("cpu_seconds"), sampler_.latest("resident_bytes"),
                  static_cast<int>(sampler_.latest("processes")), sampler_.latest("gpu0_busy_fraction"),
                  sampler_.latest("gpu0_power_watts"), command_ended_});
}

void Profiling::read_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.number(), &signal, sizeof signal) == sizeof signal)
    if (signal.ssi_signo != SIGCHLD) interrupt(signal);
  reap();
}

void Profiling::reap() {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
      all_ended_ = errno == ECHILD;
      return;
    }
    if (ended.si_pid == 0) return;
    tree_.retire(ended.si_pid);
    int status = 0;
    rusage usage{};
    ::wait4(ended.si_pid, &status, 0, &usage);
    tree_.reaped(usage);
    if (ended.si_pid != command_) continue;
    command_ended_ = true;
    profile_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

void Profiling::interrupt(const signalfd_siginfo& signal) {
  if (profile_.interrupted) {
    killing_ = true;
    return kill_all();
  }
  profile_.interrupted = true;
  if (signal.ssi_code == SI_KERNEL) return;  // from the terminal: to every process in front of it
  const int number = static_cast<int>(signal.ssi_signo);
  if (!command_ended_) {
    ::kill(command_, number);
    return;
  }
  tree_.look_for_processes();
  for (const pid_t pid : tree_.processes()) ::kill(pid, number);
}

void Profiling::kill_all() {
  tree_.look_for_processes();
  for (const pid_t pid : tree_.processes()) ::kill(pid, SIGKILL);
}

}  // namespace

CommandProfile profile_command(const ProfileOptions& options) { return Profiling(options).run(); }

}  // namespace trainyard::meter
