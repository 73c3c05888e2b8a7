#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/spec/job.h"

namespace trainyard::study::slurm {

// Script is a batch script: its requests to the cluster, and the one command that it becomes.
struct Script {
  std::string name;                     // of the job, unique: it is found again by it
  std::filesystem::path output_folder;  // what is printed goes to TASK.log, without an array to NAME.log
  std::filesystem::path work_folder;    // the command runs there
  Resources resources;
  double time_limit_seconds = 0;      // of the run; the cluster's lies at least a minute above
  int tasks = 0;                      // 0: no array
  int at_once = 0;                    // of an array's tasks; 0: no limit
  std::vector<std::int64_t> after{};  // jobs of the cluster that have to end first, however they do
  std::vector<std::string> command;
};

// Writes Bash. Every word is quoted, and only SLURM_ARRAY_TASK_ID is expanded: an array's command gets it as
// its last argument. Throws Error (config) for words that no script can hold.
std::string to_text(const Script& script);

// Returns the limit for Slurm, which counts minutes: rounded up, and one more in which the run's own limit
// can act.
int outer_limit_minutes(double time_limit_seconds);

}  // namespace trainyard::study::slurm
