#pragma once

#include <functional>
#include <string>

#include "record/run_record.h"
#include "study/folder.h"
#include "study/job.h"

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

}  // namespace trainyard::study
