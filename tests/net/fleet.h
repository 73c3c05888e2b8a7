#pragma once

#include <map>

#include "net/process.h"

namespace trainyard::net_test {

// Owns processes by name, and starts them again when they were killed, as a launcher does. All calls come
// from one thread, which must outlive the fleet.
class Fleet {
 public:
  // The processes write their output to "NAME.log" in `folder`.
  explicit Fleet(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void start(const std::string& name, std::vector<std::string> command);
  // Starts it again after so many seconds; never when negative. False: it had ended already.
  bool kill(const std::string& name, double again_after_seconds);
  bool stop(const std::string& name, double seconds);

  // Does what is due. Returns what went wrong since the last call: the processes that failed without an
  // order, and those that used the processor while another one was suspended.
  std::vector<std::string> look();
  // Returns true when all processes whose names begin with `prefix` have ended, and none is to be started
  // again.
  bool all_ended(const std::string& prefix);

  // Returns the current stacks of all threads of all running processes, if there is a debugger.
  std::string stacks();
  std::string logs(std::size_t lines) const;  // the last ones of each

 private:
  struct Node {
    std::vector<std::string> command;
    std::unique_ptr<Process> process;
    bool killed = false;
    double start_at = 0, resume_at = 0;  // 0: not
  };
  struct Watch {
    double since = 0;
    std::map<pid_t, double> cpu_seconds;
  };
  void launch(const std::string& name, Node& node);
  void look_for_spinning(const std::string& stopped, const Watch& watch);

  std::filesystem::path folder_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Watch> watches_;  // by the process that stands still
  std::vector<std::string> problems_;
};

}  // namespace trainyard::net_test
