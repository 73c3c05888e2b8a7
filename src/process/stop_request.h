#pragma once

#include <array>
#include <csignal>

namespace trainyard::process {

// The one way in which long work hears of Ctrl-C. While it lives, the first SIGINT, SIGTERM, SIGHUP or
// SIGUSR1 (which mpirun passes on to its ranks) only asks to stop, so that what was done can be kept and what
// was written aside removed; one that comes half a second later, or more, ends the process at once with exit
// code 130. The destructor puts the former handlers back, and forgets what was asked. While one lives,
// further ones do nothing. Signals that were ignored when it began (nohup) stay so.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  static bool asked();  // thread-safe
  static void check();  // Error (interrupted) once asked
  // As the first signal does; for a part of the run whose failure shall end the others.
  static void ask();

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  const bool outermost_;
  std::array<struct sigaction, 4> former_{};
};

}  // namespace trainyard::process
