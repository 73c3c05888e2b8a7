#pragma once

#include <functional>
#include <string>

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/spec/job.h"

namespace trainyard::study {

// Set-up and clean-up commands of a run. They are children like the run itself, one after the other, with its
// environment and none of its memory limit; what they print lies in logs/RUN.setup.log and RUN.cleanup.log.
// How each ended is in the record, as `setup` and `cleanup`.

// Until one fails, takes longer than its limit, or `stop` turns true. Returns why the run cannot begin, ""
// when it can; `stopped`: because of `stop`.
std::string run_setup(const Job& job, const Folder& folder, const std::function<bool()>& stop,
                      record::RunRecord& run, bool& stopped);

// All of them, whatever becomes of each; one that fails is a warning in the record. Nothing interrupts them
// but their limit.
void run_cleanup(const Job& job, const Folder& folder, record::RunRecord& run);

// A run that has clean-up commands is noted in logs/ from before its set-up until after its clean-up, so that
// what a killed process of this machine owes can be done later.
class CleanupNote {
 public:
  CleanupNote(const Job& job, const Folder& folder);
  ~CleanupNote();
  CleanupNote(const CleanupNote&) = delete;
  CleanupNote& operator=(const CleanupNote&) = delete;

 private:
  std::filesystem::path file_;  // empty: nothing is owed
};

// Does what runs of this machine owe whose process is gone. Returns how many that were.
int run_owed_cleanups(const Folder& folder);

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
