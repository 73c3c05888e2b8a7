#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/spec/job.h"

namespace trainyard::study::slurm {

struct CommandResult {
  int exit_code = 0;  // 128 + signal
  std::string out, err;

  std::string reason() const;  // err as one line, without the program's name: for people
};

// Runs one of Slurm's programs (argv, found through PATH, no shell) and waits. It sees only the variables of
// this process's environment that kPassedOn names: sbatch hands its own to the jobs, and SBATCH_* would
// overrule a script. `inherited` is a descriptor that the program keeps open, -1: none. Ctrl-C does not reach
// it. Throws Error (config) when there is no such program.
CommandResult run_command(const std::vector<std::string>& arguments, int inherited = -1);

// A job's script calls this on its node: it runs task `task` of a submission to its end, with the environment
// of its job file, and leaves its record. Returns the exit code for Slurm's books: 0 when the run is ok. When
// Slurm ends the job (time limit, scancel, preemption) it writes no record, because Slurm's state tells why;
// clean-up commands run first, for as long as Slurm waits (KillWait).
int run_task(const Folder& folder, const std::string& submission, int task);

// Warns when the node gives more CPUs than were asked for, as partitions that hand out whole nodes do: then
// only the program itself keeps to its threads. `cpus_on_node` is Slurm's number; 0: not given.
std::optional<record::Warning> cores_warning(const Job& job, int cpus_on_node);

}  // namespace trainyard::study::slurm
