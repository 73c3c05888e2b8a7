#include "process/stop_request.h"

#include <unistd.h>

#include <atomic>
#include <ctime>

#include "base/error.h"

namespace trainyard::process {

namespace {

constexpr int kInterrupted = 130;

std::atomic<bool> stop_asked{false};  // lock-free, so that a handler may touch it
std::atomic<double> first_asked_seconds{0};
std::atomic<int> living{0};

// One request may arrive several times: timeout(1) signals the process and then its group, and clusters
// signal every process of a job.
constexpr double kSameRequestSeconds = 0.5;

void ask_to_stop(int) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // safe in a handler
  const double seconds = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  if (!stop_asked.exchange(true))
    first_asked_seconds = seconds;
  else if (seconds - first_asked_seconds > kSameRequestSeconds)
    ::_exit(kInterrupted);
}

// A stack for the handlers of this thread. While oneDNN's products without batch reduction run, the stack
// pointer lies in their work space on the heap: a handler's frame there overwrites what is below.
class HandlerStack {
 public:
  HandlerStack() {
    stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;  // it has one
    // A frame holds all vector registers, and where they are in use the tiles of matrix units.
    const std::size_t bytes = std::size_t{64} << 10;
    memory_ = std::make_unique<std::byte[]>(bytes);
    stack_t own{};
    own.ss_sp = memory_.get();
    own.ss_size = bytes;
    if (::sigaltstack(&own, nullptr) != 0) memory_.reset();
  }
  ~HandlerStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

StopRequest::StopRequest() : outermost_(living.fetch_add(1) == 0) {
  if (!outermost_) return;
  // The kernel hands a process's signals to its first thread, which is the one that asks here.
  thread_local const HandlerStack handlers_stand_apart;
  stop_asked = false;
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former_[i]);
    if (former_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

StopRequest::~StopRequest() {
  living.fetch_sub(1);
  if (!outermost_) return;
  stop_asked = false;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
}

bool StopRequest::asked() { return stop_asked; }

void StopRequest::check() {
  if (stop_asked) fail(ErrorKind::interrupted, "interrupted");
}

void StopRequest::ask() { stop_asked = true; }

}  // namespace trainyard::process
