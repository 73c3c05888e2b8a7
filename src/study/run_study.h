#pragma once

#include <functional>
#include <map>

#include "study/launcher.h"
#include "study/plan.h"
#include "study/progress.h"
#include "study/retry.h"

namespace trainyard::study {

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
