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

}  // namespace

StopRequest::StopRequest() : outermost_(living.fetch_add(1) == 0) {
  if (!outermost_) return;
  stop_asked = false;
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
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
