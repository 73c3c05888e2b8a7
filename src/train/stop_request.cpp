#include "train/stop_request.h"

#include <unistd.h>

namespace trainyard::train {
namespace {

constexpr int kInterrupted = 130;

volatile std::sig_atomic_t stop_asked = 0;

void ask_to_stop(int) {
  if (stop_asked != 0) ::_exit(kInterrupted);
  stop_asked = 1;
}

}  // namespace

StopRequest::StopRequest() {
  stop_asked = 0;
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
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
}

bool StopRequest::asked() { return stop_asked != 0; }

}  // namespace trainyard::train
