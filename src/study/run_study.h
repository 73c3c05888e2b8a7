#pragma once

#include <functional>

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

// Makes or opens the folder, takes in what earlier runs left, starts what is missing, and returns what there
// is then. Safe to be killed at any moment: the next call goes on. Error (usage) when the folder holds
// another study or something else.
Progress run_study(const StudyRun& run, Launcher& launcher, const Watcher& watcher);

}  // namespace trainyard::study
