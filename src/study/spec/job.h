#pragma once

#include "record/run_record.h"
#include "store/store.h"
#include "study/spec/spec.h"

namespace trainyard::study {

// Resources is a job's request to a cluster; a launcher on this machine checks what it can and ignores the
// rest.
struct Resources {
  std::string partition, account, constraint;            // empty: the cluster's default
  int nodes = 1, tasks_per_node = 1, cpus_per_task = 0;  // 0: not asked for
  std::string gpu_type;                                  // empty: any
  int gpus_per_node = 0;
  std::int64_t memory_bytes = 0;   // per node, 0: not asked for
  std::vector<std::string> extra;  // further sbatch options, word by word

  bool operator==(const Resources&) const = default;
};

// Job is one attempt at one run of a study, which a launcher starts.
struct Job {
  std::string run_id;  // CELL-rREPLICATE-aATTEMPT
  std::string study, cell;
  std::string build;  // what the user calls that which is measured; "": what the run says itself
  int replicate = 1, attempt = 1;
  record::Settings settings;
  // Jobs of one lane run in their order, one at a time, in parallel with those of other lanes. For jobs
  // without a lane the launcher decides.
  std::string lane{};
  std::string kind;                     // bench, train or program
  std::vector<std::string> command;     // argv, no shell
  std::vector<Command> setup, cleanup;  // before it, and after it however it ends
  double setup_limit_seconds = kSideLimitSeconds, cleanup_limit_seconds = kSideLimitSeconds;  // each command
  std::vector<std::string> outputs;                // paths whose folders are made first
  std::map<std::string, std::string> environment;  // added to the launcher's
  double time_limit_seconds = 0;                   // 0: none
  std::int64_t memory_limit_bytes = 0;             // of its processes together; 0: none
  double wait_for_quiet_seconds = 0;               // at most, behind the set-up; 0: no waiting
  bool pin_clocks = false;                         // as long as the command runs
  double grace_seconds = 0;  // that it has on this machine, when it is stopped, to save its state
  Resources resources;
};

// Returns "" when every place in the study's program, environment, set-up and clean-up has a value in a run
// of these settings, else the place without one.
std::string complaint_about_places(const Spec& spec, const record::Settings& settings);

// Makes the next attempt at a planned run. `trainyard` is the program that bench and train are commands of.
Job make_job(const Spec& spec, const store::PlannedRun& run, int attempt,
             const std::filesystem::path& trainyard);

// Identifies a record: the job's id, cell, replicate, attempt, command, settings and build. A command of this
// program that ended before it could report its build had the same build as this process.
void identify(record::RunRecord& run, const Job& job);

// Both convert to JSON, for job files that a cluster's node reads, and back.
std::string to_json(const Job& job);
Job job_from_json(const std::string& text);

}  // namespace trainyard::study
