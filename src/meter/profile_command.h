#pragma once

#include "record/resource_trace.h"

namespace trainyard::meter {

// ProfileState holds the values for a progress line on a terminal.
struct ProfileState {
  double seconds = 0, cpu_seconds = 0, resident_bytes = 0;  // NaN: not known
  int processes = 0;
  double gpu_busy_fraction = 0, gpu_power_watts = 0;  // of the first GPU; NaN: there is none
  bool command_ended = false;                         // and left processes behind, which go on
};

struct ProfileOptions {
  std::vector<std::string> command;  // found through PATH, no shell
  double hz = 50;
  bool gpus = true;
  bool output_to_stderr = false;                   // what the command prints, too
  std::function<void(const ProfileState&)> watch;  // called after every sample
};

struct CommandProfile {
  int start_errno = 0;       // not 0: it could not be started
  int exit_code = 0;         // 128 + signal when one ended it
  bool interrupted = false;  // a signal asked us to end
  record::ResourceTrace trace;
  double wall_seconds = 0, user_seconds = 0, system_seconds = 0;  // CPU: of all, as their parents were told
  double peak_resident_bytes = 0;   // of all at once, as sampled, or of the largest one, as the kernel noted
  std::int64_t missed_samples = 0;  // times at which we should have looked, and could not
  double sampler_cpu_seconds = 0;   // that measuring took
  double sampler_kernel_seconds = 0, sampler_driver_seconds = 0;  // of that, reading /proc; asking NVML

  bool ok() const { return exit_code == 0 && !interrupted; }
};

// Runs a command and measures it until it and all that it started have ended. The calling thread does the
// measuring. SIGINT, SIGTERM and SIGHUP that were sent to this process are passed on to the command (one from
// the terminal reaches it by itself); the second ends all of them at once. The command dies with this
// process. REQUIRES: this process has no other children, and no other thread that takes these signals.
CommandProfile profile_command(const ProfileOptions& options);

}  // namespace trainyard::meter
