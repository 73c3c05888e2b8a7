#pragma once

#include "meter/gpu_watch.h"
#include "record/run_record.h"
#include "store/store.h"
#include "study/run/folder.h"
#include "study/spec/job.h"

namespace trainyard::study {

// Warns of nodes and CPUs that a job was given and its run, by its record, did not use. A run that reports no
// nodes gets a warning, too, unless srun or mpirun started it.
void check_use(const Job& job, record::RunRecord& run);

// Warns when fewer GPUs of this machine did work than the job asked of a node; `seen` is the activity during
// the run. It ignores a run too short for the driver to count.
void check_gpus(const Job& job, const std::vector<meter::GpuActivity::Gpu>& seen, record::RunRecord& run);

// RunState is one run that the plan expects, and its progress.
struct RunState {
  // Tells whether an attempt is under way that has left no record yet.
  enum class Flight { none, queued, running };

  store::PlannedRun planned;
  int attempts = 0;                         // records there are
  int last_attempt = 0;                     // the highest number of one, of whatever build; 0: there is none
  int disturbed = 0;                        // of these: went well, but something disturbed them
  std::optional<record::RunRecord> result;  // the attempt that speaks for it (record/build.h); or none
  Flight flight = Flight::none;  // none unless somebody looked: note_running(), slurm::note_in_flight()

  bool done() const { return result && result->status == record::Status::ok; }
  const char* status_name() const;  // of the result; "queued", "running" or "missing"
};

// StudyProgress is the state of a study for one build of the measured program.
struct StudyProgress {
  std::string study;
  std::string build;                         // "": not known
  std::vector<std::string> other_builds;     // that have runs in the folder, too
  std::vector<RunState> states;              // in the order of the plan
  std::vector<record::RunRecord> unplanned;  // good runs of cells that the plan has no longer, or never had

  std::int64_t expected() const { return static_cast<std::int64_t>(states.size()); }
  std::int64_t done() const;
  std::int64_t missing() const;  // without a result, and not on their way
  std::int64_t in_flight(RunState::Flight flight) const;
  std::map<record::Status, std::int64_t> failed() const;  // by class
};

// Returns the progress of a build from the store and the record files; without a name, of the build of the
// last run. Record files that are not in the store yet count, too.
StudyProgress progress_of(const Folder& folder, const std::optional<std::string>& build = std::nullopt);

// Marks the runs that a process of this machine has begun and not ended. It does not see a cluster's runs.
void note_running(const Folder& folder, StudyProgress& progress);

// Returns every run of the study, good or not, in the order of insertion.
std::vector<record::RunRecord> runs_of(const Folder& folder);

// Returns the runs of one build, named by a prefix; "": the build of the last run. Throws Error (usage)
// naming the known builds.
std::vector<record::RunRecord> runs_of_build(const Folder& folder, const std::string& build);

// Adds every record file that is not in the store; returns how many. It names an unreadable file in
// `complaints` and leaves it alone.
int ingest(const Folder& folder, store::Store& store, std::vector<std::string>& complaints);

}  // namespace trainyard::study
