#pragma once

#include <string>
#include <vector>

namespace trainyard::study::slurm {

struct CommandResult {
  int exit_code = 0;  // 128 + signal
  std::string out, err;

  std::string reason() const;  // err as one line, without the program's name: for people
};

// Runs one of Slurm's programs (argv, found through PATH, no shell) and waits. It sees none of this process's
// environment but what kPassedOn names: sbatch hands its own to the jobs, and SBATCH_* would overrule a
// script. `inherited` is a descriptor that the program keeps open, -1: none. Ctrl-C does not reach it. Error
// (config) when there is no such program.
CommandResult run_command(const std::vector<std::string>& arguments, int inherited = -1);

// True when sbatch and scontrol are there.
bool is_installed();

}  // namespace trainyard::study::slurm
