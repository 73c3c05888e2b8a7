#pragma once

#include <map>

#include "net/process.h"

namespace trainyard::net_test {

// Processes by name, which are started again when they were killed, as a launcher does. Called from one
// thread, which must outlive it.
class Fleet {
 public:
  // What they print goes to "NAME.log" in `folder`.
  explicit Fleet(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void start(const std::string& name, std::vector<std::string> command);
  // Starts it again after so many seconds; never when negative. False: it had ended already.
  bool kill(const std::string& name, double again_after_seconds);
  bool stop(const std::string& name, double seconds);

  // Does what is due. What went wrong since the last call: who ended with a failure that nobody ordered, who
  // used the processor while everything stood still.
  std::vector<std::string> look();
  // All whose names begin so have ended, and none is to be started again.
  bool all_ended(const std::string& prefix);

  // What all its threads do now, of all that run; as far as there is a debugger.
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
