#pragma once

#include <csignal>

#include <array>

namespace trainyard::train {

// While it lives, the first SIGINT or SIGTERM only asks to stop, and the second ends the process at once with
// exit code 130. The destructor puts the former handlers back. One at a time. Signals that were ignored when
// it began (nohup) stay so.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  static bool asked();

 private:
  static constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};
  std::array<struct sigaction, 2> former_{};
};

}  // namespace trainyard::train
