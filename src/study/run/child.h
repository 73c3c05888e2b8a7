#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study {

struct EndStatus {
  record::Status status = record::Status::ok;
  std::string reason;
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

// Interprets the end of a child. `kind` is as in a job, `last_line` is the last line that it printed, and
// `out_of_memory_kills` counts the kernel's kills for lack of memory meanwhile.
EndStatus status_of_end(const ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills);

// Tells whether the last line of a run reports that its numbers became NaN.
bool says_not_a_number(const std::string& line);

// Returns the last non-empty line, at most 300 bytes of it; "" when there is none.
std::string last_line_of(const std::filesystem::path& log);

// Returns the kernel's count since boot, over all processes; 0 where it does not report it.
long out_of_memory_kills();

struct ChildOptions {
  std::vector<std::string> command;                // found through PATH, no shell
  std::map<std::string, std::string> environment;  // added to ours
  std::filesystem::path log;                       // gets what it prints; must not exist yet
  bool log_may_exist = false;                      // then what it prints is added
  double time_limit_seconds = 0;                   // 0: none
  std::int64_t memory_limit_bytes = 0;             // of its processes together; 0: none
};

// Runs a program to its end, as the leader of its own process group. At the time limit, above the memory
// limit, or when `stop` turns true, it is killed with all that it started. It dies with this process. Throws
// Error (io) when its log cannot be made.
ChildEnd run_to_the_end(const ChildOptions& options, const std::function<bool()>& stop);

}  // namespace trainyard::study
