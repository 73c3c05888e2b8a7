#pragma once

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/slurm/state.h"
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

// Cluster answers queries to this machine's Slurm.
class Cluster {
 public:
  // Reads its configuration. Throws Error (peer) when no controller answers.
  Cluster();

  int max_array_tasks() const { return max_array_tasks_; }

  // Returns states of an array's tasks, by task; those that Slurm has forgotten everywhere are missing. They
  // come from scontrol while it remembers, then from the file of completed jobs, then from the accounting.
  // Returns nothing at all when the controller does not answer: then ask later.
  std::optional<std::map<int, TaskState>> states(std::int64_t job_id, std::span<const int> tasks) const;

  // Returns the job of that name, running, waiting or ended; 0: none. Throws Error (peer) when no controller
  // answers.
  std::int64_t find_job(const std::string& name) const;

 private:
  int max_array_tasks_ = 1000;
  std::filesystem::path completed_jobs_;  // of jobcomp/filetxt; empty: none, or not readable here
  bool accounting_ = false;
};

}  // namespace trainyard::study::slurm
