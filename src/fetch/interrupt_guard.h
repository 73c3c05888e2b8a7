#pragma once

#include <csignal>

#include <array>

namespace trainyard::fetch {

// While it lives, SIGINT, SIGTERM and SIGHUP only raise a flag, so that what was written aside can be
// removed. Its destructor puts the former handlers back and delivers the signal once more: the process then
// ends as it would have. Declare it before what must be cleaned up. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  void check() const;  // Error (io) once a signal has come

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> former_{};
};

}  // namespace trainyard::fetch
