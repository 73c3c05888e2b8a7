#pragma once

#include <functional>

#include "record/run_record.h"
#include "study/folder.h"
#include "study/job.h"

namespace trainyard::study {

// Runs one job as a child process on this machine, kills it (with its children) at its time limit or when
// `stop` turns true, and writes its record file: the one the child left, or one made here when it crashed,
// ran out of time or memory, or left none. "{record}" in the job's texts becomes the path for the child's,
// "{folder}" the study's folder. Its set-up commands come first, and one that fails refuses the run; its
// clean-up commands come last, however it ended. Where the job asks for it, the child begins on a quiet
// machine, after some waiting, and clocks are pinned as long as it runs. What it was given and did not use is
// a warning. `amend`, if any, may add to the record before it is written.
record::RunRecord supervise(const Job& asked, const Folder& folder, const std::function<bool()>& stop,
                            const std::function<void(record::RunRecord&)>& amend = {});

}  // namespace trainyard::study
