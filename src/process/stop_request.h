#pragma once

#include <csignal>

#include "base/standard.h"

namespace trainyard::process {

// Long work learns of Ctrl-C through this class alone. While an object lives, the first SIGINT, SIGTERM,
// SIGHUP or SIGUSR1 (which mpirun passes on to its ranks) only requests a stop, so that results can be kept
// and temporary files removed; a signal that arrives half a second later, or more, ends the process at once
// with exit code 130. The destructor restores the former handlers and forgets the request. While one object
// lives, further ones do nothing. Signals that were ignored at construction (nohup) stay ignored.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  static bool asked();  // thread-safe
  static void check();  // Error (interrupted) once asked
  // Requests a stop as the first signal does, for a part of the run whose failure must end the others.
  static void ask();

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  const bool outermost_;
  std::array<struct sigaction, 4> former_{};
};

}  // namespace trainyard::process
