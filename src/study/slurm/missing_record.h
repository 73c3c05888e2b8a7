#pragma once

#include "record/run_record.h"
#include "study/folder.h"
#include "study/job.h"
#include "study/slurm/state.h"

namespace trainyard::study::slurm {

// The record of a job that could not leave one itself: refused, cancelled, lost with its node, ...
record::RunRecord missing_record(const Job& job, const Outcome& outcome);
record::RunRecord missing_record(const Job& job, const TaskState& state);

// Writes the record file, unless there is one: then that one counts and is returned.
record::RunRecord keep_record(const record::RunRecord& run, const Folder& folder);

}  // namespace trainyard::study::slurm
