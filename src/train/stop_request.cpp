#include "train/stop_request.h"

#include <unistd.h>

#include <atomic>

namespace trainyard::train {
namespace {

constexpr int kInterrupted = 130;

std::atomic<bool> stop_asked{false};  // lock-free, so that a handler may touch it
std::atomic<int> living{0};

void ask_to_stop(int) {
  if (stop_asked.exchange(true)) ::_exit(kInterrupted);
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
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
}

bool StopRequest::asked() { return stop_asked; }

void StopRequest::ask() { stop_asked = true; }

}  // namespace trainyard::train
