#pragma once

#include <vector>

#include "meter/gpu_watch.h"
#include "record/run_record.h"
#include "study/job.h"

namespace trainyard::study {

// Warns of nodes and CPUs that a job was given and its run, by its record, did not use. A run that says
// nothing about nodes is warned of, too, unless it was started by srun or mpirun.
void check_use(const Job& job, record::RunRecord& run);

// Warns when fewer GPUs of this machine did work than the job asked of a node; `seen`: while it ran. Says
// nothing of a run too short for the driver to count.
void check_gpus(const Job& job, const std::vector<meter::GpuActivity::Gpu>& seen, record::RunRecord& run);

}  // namespace trainyard::study
