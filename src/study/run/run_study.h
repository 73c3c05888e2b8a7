#pragma once

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/run/progress.h"
#include "study/spec/job.h"
#include "study/spec/plan.h"

namespace trainyard::study {

// Launcher starts jobs and reports how each ended. Every job ends in exactly one record, except those still
// in flight when `stop` turns true.
class Launcher {
 public:
  using Finished = std::function<void(const record::RunRecord&)>;
  using Stop = std::function<bool()>;  // asked often: a person pressed Ctrl-C

  virtual ~Launcher() = default;

  // Makes the records that are due for jobs of earlier launchers. A study calls it before it determines its
  // missing runs.
  virtual void settle() {}

  virtual void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) = 0;
};

// LocalLauncher runs jobs on this machine: those of different lanes in parallel, those without a lane one
// after the other, because two at once would disturb each other's times.
class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(Folder folder) : folder_(std::move(folder)) {}

  // Completes the duties of runs whose process was killed: it runs their clean-up commands and restores the
  // clocks.
  void settle() override;

  // Other threads may call `finished` and `stop`; only one at a time calls `finished`.
  void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  Folder folder_;
};

// RetryPolicy selects the failed runs of a study that are tried again, beyond those that always are.
struct RetryPolicy {
  std::set<record::Status> statuses;
  int disturbed = 0;  // attempts more at a run that went well, but that something disturbed
};

// Parses "timeout,oom" or "all"; "" is none. Throws Error (usage) for a word that is no status.
RetryPolicy parse_retry_policy(const std::string& text);

// Tells whether a further `study run` makes a new attempt. Runs that their environment ended (crash,
// cancelled, interrupted) are tried again; those that would end the same way again (failed, nan, diverged,
// oom, timeout, refused) only when asked for; ok never.
bool runs_again(const record::RunRecord& run, const RetryPolicy& policy);

// Tells whether a run that went well is repeated because something disturbed every attempt so far; both are
// kept.
bool repeats_disturbed(const RunState& state, const RetryPolicy& policy);

struct StudyRun {
  const Spec& spec;
  const Plan& plan;
  Folder folder;
  RetryPolicy retry;
  std::filesystem::path trainyard;  // the program whose commands the runs are
};

struct Watcher {
  // Called before the first run with the number of runs to start now.
  std::function<void(std::int64_t)> begins;
  std::function<void(const record::RunRecord&)> finished;
  std::function<void(const std::string&)> remarks;  // one line each
  Launcher::Stop stop;
};

// ExpectedRuns holds the runs that a folder expects, and how each is started.
struct ExpectedRuns {
  std::string study;  // a name
  std::string build;  // whose runs they are: those of other builds do not count
  std::vector<store::PlannedRun> runs;
  std::function<Job(const store::PlannedRun&, int attempt)> make_job;
  std::map<std::string, std::string> refused{};  // why cells can never run, by cell
};

// Makes or opens the folder, takes in the results of earlier runs, starts the missing runs, and returns the
// progress then. It may be killed at any moment: the next call continues. Throws Error (usage) when the
// folder holds another study or something else.
StudyProgress run_expected(const Folder& folder, const ExpectedRuns& expected, const RetryPolicy& retry,
                           Launcher& launcher, const Watcher& watcher);

// Returns the build that runs of a study get when they are started now; runs of other builds do not count for
// it. "": a program that nobody named.
std::string expected_build(const Spec& spec);

// Does the same for the matrix of a study's file.
StudyProgress run_study(const StudyRun& run, Launcher& launcher, const Watcher& watcher);

}  // namespace trainyard::study
