#include "fetch/interrupt_guard.h"

#include "base/error.h"

namespace trainyard::fetch {
namespace {

volatile std::sig_atomic_t caught_signal = 0;

void remember(int signal) { caught_signal = signal; }

}  // namespace

InterruptGuard::InterruptGuard() {
  caught_signal = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former_[i]);
    if (former_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);  // nohup stays nohup
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
  if (caught_signal != 0) std::raise(caught_signal);
}

void InterruptGuard::check() const {
  if (caught_signal != 0) fail(ErrorKind::io, "interrupted by signal {}", static_cast<int>(caught_signal));
}

}  // namespace trainyard::fetch
