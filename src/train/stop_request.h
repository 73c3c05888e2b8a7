#pragma once

#include <csignal>

#include <array>

namespace trainyard::train {

// While it lives, the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 (which mpirun passes on to its ranks) only
// asks to stop, and the second ends the process at once with exit code 130. The destructor puts the former
// handlers back. While one lives, further ones do nothing. Signals that were ignored when it began (nohup)
// stay so.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  static bool asked();
  // As the first signal does; for a part of the run whose failure shall end the others.
  static void ask();

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  const bool outermost_;
  std::array<struct sigaction, 4> former_{};
};

}  // namespace trainyard::train
