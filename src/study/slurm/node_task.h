#pragma once

#include <optional>
#include <string>

#include "record/run_record.h"
#include "study/folder.h"
#include "study/job.h"

namespace trainyard::study::slurm {

// What a job's script does on its node: runs task `task` of a submission to its end, with the environment of
// its job file, and leaves its record. Returns the exit code for Slurm's books: 0 when the run is ok. When
// Slurm ends the job (time limit, scancel, preemption) no record is written: its state says why; clean-up
// commands run first, for as long as Slurm waits (KillWait).
int run_task(const Folder& folder, const std::string& submission, int task);

// Warns when the node gives more CPUs than were asked for, as partitions that hand out whole nodes do: then
// nothing but the program itself keeps it to its threads. `cpus_on_node` as Slurm says; 0: it does not.
std::optional<record::Warning> cores_warning(const Job& job, int cpus_on_node);

}  // namespace trainyard::study::slurm
