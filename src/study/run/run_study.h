#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "record/run_record.h"
#include "study/run/launcher.h"
#include "study/run/progress.h"
#include "study/spec/plan.h"

namespace trainyard::study {

// Which of a study's failed runs are tried again beyond those that always are.
struct RetryPolicy {
  std::set<record::Status> statuses;
  int disturbed = 0;  // attempts more at a run that went well, but that something disturbed
};

// "timeout,oom" or "all"; "" is none. Error (usage) names what is not the name of a status.
RetryPolicy parse_retry_policy(const std::string& text);

// Whether a further `study run` makes a new attempt. What the surroundings ended (crash, cancelled,
// interrupted) is tried again; what would end the same way again (failed, nan, diverged, oom, timeout,
// refused) only when asked for; ok never.
bool runs_again(const record::RunRecord& run, const RetryPolicy& policy);

// Whether a run that went well is repeated because something disturbed every attempt so far; both are kept.
bool repeats_disturbed(const RunState& state, const RetryPolicy& policy);

struct StudyRun {
  const Spec& spec;
  const Plan& plan;
  Folder folder;
  RetryPolicy retry;
  std::filesystem::path trainyard;  // the program whose commands the runs are
};

struct Watcher {
  // Before the first run: how many will be started now.
  std::function<void(std::int64_t)> begins;
  std::function<void(const record::RunRecord&)> finished;
  std::function<void(const std::string&)> remarks;  // one line each
  Launcher::Stop stop;
};

// Runs that are expected of a folder, and how each is started.
struct ExpectedRuns {
  std::string study;  // a name
  std::string build;  // whose runs they are: those of other builds do not count
  std::vector<store::PlannedRun> runs;
  std::function<Job(const store::PlannedRun&, int attempt)> make_job;
  std::map<std::string, std::string> refused{};  // why cells can never run, by cell
};

// Makes or opens the folder, takes in what earlier runs left, starts what is missing, and returns what there
// is then. Safe to be killed at any moment: the next call goes on. Error (usage) when the folder holds
// another study or something else.
Progress run_expected(const Folder& folder, const ExpectedRuns& expected, const RetryPolicy& retry,
                      Launcher& launcher, const Watcher& watcher);

// The build that runs of a study are of when they are started now; those of others do not count for it. "": a
// program that nobody named.
std::string expected_build(const Spec& spec);

// The same for the matrix of a study's file.
Progress run_study(const StudyRun& run, Launcher& launcher, const Watcher& watcher);

}  // namespace trainyard::study
