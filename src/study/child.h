#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace trainyard::study {

struct ChildOptions {
  std::vector<std::string> command;                // found through PATH, no shell
  std::map<std::string, std::string> environment;  // added to ours
  std::filesystem::path log;                       // gets what it prints; must not exist yet
  bool log_may_exist = false;                      // then what it prints is added
  double time_limit_seconds = 0;                   // 0: none
  std::int64_t memory_limit_bytes = 0;             // of its processes together; 0: none
};

struct ChildEnd {
  int start_errno = 0;                      // not 0: it could not be started
  int exit_code = 0;                        // of a normal end
  int signal = 0;                           // that ended it
  bool timed_out = false, stopped = false;  // and was killed for it
  std::int64_t over_memory_bytes = 0;       // not 0: what it held when it was killed for it
  std::int64_t memory_limit_bytes = 0;      // then: what it might hold
  double wall_seconds = 0, user_seconds = 0, system_seconds = 0;  // CPU: with all that it waited for
  long peak_resident_bytes = 0;                                   // of the largest process
};

// Runs a program to its end. It leads a process group of its own: at the time limit, above the memory limit,
// or when `stop` turns true, it is killed with all that it started. It dies with us. Error (io) when its log
// cannot be made.
ChildEnd run_to_the_end(const ChildOptions& options, const std::function<bool()>& stop);

}  // namespace trainyard::study
