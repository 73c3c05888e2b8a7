#pragma once

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/spec/job.h"

namespace trainyard::study {

// Set-up and clean-up commands of a run are children like the run itself. They run one after the other, with
// its environment and without its memory limit; their output is in logs/RUN.setup.log and RUN.cleanup.log.
// The record holds how each ended, as `setup` and `cleanup`.

// Runs set-up commands until one fails, takes longer than its limit, or `stop` turns true. Returns why the
// run cannot begin, "" when it can; `stopped` tells that `stop` was the reason.
std::string run_setup(const Job& job, const Folder& folder, const std::function<bool()>& stop,
                      record::RunRecord& run, bool& stopped);

// Runs all of them, whatever becomes of each; one that fails is a warning in the record. Only their limit
// interrupts them.
void run_cleanup(const Job& job, const Folder& folder, record::RunRecord& run);

// CleanupNote keeps a note in logs/ of a run with clean-up commands, from before its set-up until after its
// clean-up, so that the clean-up of a killed process of this machine can run later.
class CleanupNote {
 public:
  CleanupNote(const Job& job, const Folder& folder);
  ~CleanupNote();
  CleanupNote(const CleanupNote&) = delete;
  CleanupNote& operator=(const CleanupNote&) = delete;

 private:
  std::filesystem::path file_;  // empty: nothing is owed
};

// Runs the pending clean-ups of this machine whose process is gone. Returns their number.
int run_owed_cleanups(const Folder& folder);

// Runs one job as a child process on this machine, kills it (with its children) at its time limit or when
// `stop` turns true, and writes its record file: the one the child left, or one made here when it crashed,
// ran out of time or memory, or left none. "{record}" in the job's texts becomes the path for the child's,
// "{folder}" the study's folder. Its set-up commands come first, and one that fails refuses the run; its
// clean-up commands come last, however it ended. Where the job asks for it, the child begins on a quiet
// machine, after some waiting, and clocks are pinned as long as it runs. Resources that it was given and did
// not use give a warning. `amend`, if any, may add to the record before it is written.
record::RunRecord supervise(const Job& asked, const Folder& folder, const std::function<bool()>& stop,
                            const std::function<void(record::RunRecord&)>& amend = {});

}  // namespace trainyard::study
