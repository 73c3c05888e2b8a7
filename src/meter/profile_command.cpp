#include "meter/profile_command.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "meter/nvml.h"
#include "meter/pace.h"
#include "meter/resource_sampler.h"
#include "meter/tree_meter.h"
#include "process/child.h"
#include "process/family.h"

namespace trainyard::meter {
namespace {

// HeldSignals blocks these signals during its lifetime, so that they can be read. Signals that were ignored
// before (nohup) stay ignored.
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

// Waits for one of these signals until a time of the monotonic clock. It takes one system call, while a
// signalfd and a timerfd take three. Returns nothing when none came.
std::optional<siginfo_t> signal_before(double then, const sigset_t& held) {
  const double left = std::max(then - now_seconds(), 0.0), whole = std::floor(left);
  const timespec time{static_cast<time_t>(whole), static_cast<long>(1e9 * (left - whole))};
  siginfo_t signal{};
  return ::sigtimedwait(&held, &signal, &time) > 0 ? std::optional(signal) : std::nullopt;
}

// Profiling is one profile in the making.
class Profiling {
 public:
  explicit Profiling(const ProfileOptions& options)
      : options_(options), nvml_(options.gpus ? Nvml::open() : nullptr), sampler_(tree_, nvml_.get()) {}

  CommandProfile run();

 private:
  void sample(bool last = false);
  void reap();
  void interrupt(const siginfo_t& signal);
  void kill_all();

  const ProfileOptions& options_;
  const HeldSignals held_;
  TreeMeter tree_;
  const std::unique_ptr<Nvml> nvml_;
  ResourceSampler sampler_;
  CommandProfile profile_;
  pid_t command_ = -1;
  double started_ = 0;
  bool command_ended_ = false, all_ended_ = false, killing_ = false;
};

CommandProfile Profiling::run() {
  started_ = now_seconds();
  const double cpu_before = thread_cpu_seconds();
  sampler_.sample(0);
  const process::Child child =
      process::start({.command = options_.command,
                      .input = STDIN_FILENO,
                      .output = options_.output_to_stderr ? STDERR_FILENO : STDOUT_FILENO,
                      .signal_mask = &held_.before()});
  profile_.start_errno = child.start_errno;
  if (profile_.start_errno != 0) return std::move(profile_);
  command_ = child.pid;
  const auto row_after = [&](double seconds) { return static_cast<std::int64_t>(seconds * options_.hz) + 1; };
  for (std::int64_t due = row_after(now_seconds() - started_); !all_ended_;) {
    if (const auto signal = signal_before(started_ + static_cast<double>(due) / options_.hz, held_.held())) {
      if (signal->si_signo != SIGCHLD) interrupt(*signal);
      reap();
    }
    const double seconds = now_seconds() - started_;
    const std::int64_t next = row_after(seconds);
    if (all_ended_ || next == due) continue;
    // A sample right after a late one would cover too short a time.
    const bool too_soon = seconds - sampler_.last_seconds() < 0.5 / options_.hz;
    profile_.missed_samples += next - due - (too_soon ? 0 : 1);
    due = next;
    if (!too_soon) sample();
    if (killing_) kill_all();  // also what was started meanwhile
  }
  if (now_seconds() - started_ - sampler_.last_seconds() < 0.5 / options_.hz) sampler_.forget_last();
  sample(true);
  profile_.wall_seconds = now_seconds() - started_;
  profile_.user_seconds = tree_.user_seconds();
  profile_.system_seconds = tree_.system_seconds();
  profile_.sampler_cpu_seconds = thread_cpu_seconds() - cpu_before;
  profile_.sampler_kernel_seconds = sampler_.kernel_seconds();
  profile_.sampler_driver_seconds = sampler_.driver_seconds();
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
    profile_.exit_code = process::exit_code_of(status);
  }
}

void Profiling::interrupt(const siginfo_t& signal) {
  if (profile_.interrupted) {
    killing_ = true;
    return kill_all();
  }
  profile_.interrupted = true;
  if (signal.si_code == SI_KERNEL) return;  // from the terminal: to every process in front of it
  const int number = signal.si_signo;
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

CommandProfile profile_command(const ProfileOptions& options) {
  process::start_guard();  // before there is anybody who counts children
  return Profiling(options).run();
}

}  // namespace trainyard::meter
