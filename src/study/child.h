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
  double time_limit_seconds = 0;                   // 0: none
  std::int64_t memory_limit_bytes = 0;             // 0: none
};

struct ChildEnd {
  int start_errno = 0;                                            // not 0: it could not be started
  int exit_code = 0;                                              // of a normal end
  int signal = 0;                                                 // that ended it
  bool timed_out = false, stopped = false;                        // and was killed for it
  double wall_seconds = 0, user_seconds = 0, system_seconds = 0;  // CPU: with all that it waited for
  long peak_resident_bytes = 0;
};

// Runs a program to its end. It leads a process group of its own: at the time limit, or when `stop` turns
// true, the whole group is killed. It dies with us. Error (io) when its log cannot be made.
ChildEnd run_to_the_end(const ChildOptions& options, const std::function<bool()>& stop);

}  // namespace trainyard::study
