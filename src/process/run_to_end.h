#pragma once

#include "process/child.h"

// Each function here starts one program by start() (child.h) and returns when it has ended.
namespace trainyard::process {

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

// A BoundedRun is a program with limits on its time and memory.
struct BoundedRun {
  std::vector<std::string> command;                // found through PATH, no shell
  std::map<std::string, std::string> environment;  // added to ours
  std::filesystem::path log;                       // gets what it prints; must not exist yet
  bool log_may_exist = false;                      // then what it prints is added
  double time_limit_seconds = 0;                   // 0: none
  std::int64_t memory_limit_bytes = 0;             // of its processes together; 0: none
  double grace_seconds =
      0;  // from SIGTERM, which `stop` sends it, until it is killed; 0: it is killed at once
};

// Runs a program to its end, as the leader of its own process group. At the time limit, above the memory
// limit, or when `stop` turns true, it is killed with all that it started; one that ended well in its time of
// grace was not stopped. It dies with this process. Throws
// Error (io) when its log cannot be made.
ChildEnd run_to_the_end(const BoundedRun& options, const std::function<bool()>& stop);

// Returns the last non-empty line, at most 300 bytes of it; "" when there is none.
std::string last_line_of(const std::filesystem::path& log);

// Returns the kernel's count since boot, over all processes; 0 where it does not report it.
long out_of_memory_kills();

struct ChildResult {
  int start_errno = 0;  // not 0: the program could not be started
  int exit_code = 0;    // 128 + signal when a signal ended it
};

// Runs a program (found through PATH, no shell) in `folder`, its output going to `log`. `tick` is called
// about thirty times a second; when it throws, the child is ended and reaped first. The child dies with us.
ChildResult run_with_ticks(const std::vector<std::string>& command, const std::filesystem::path& folder,
                           const std::filesystem::path& log, const std::function<void()>& tick);

struct CapturedRun {
  int start_errno = 0;  // not 0: the program could not be started
  int exit_code = 0;    // 128 + signal when a signal ended it
  std::string out, err;
};

// Runs a program and returns what it printed; output and error of `options` are not used.
CapturedRun run_captured(ChildOptions options);

}  // namespace trainyard::process
