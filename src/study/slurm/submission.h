#pragma once

#include "study/run/folder.h"
#include "study/slurm/cluster.h"
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

// Submission holds jobs that are, or are about to be, one array of the cluster. It lies in
// FOLDER/slurm/NAME/:
//   jobs/TASK.json    one job each, with its environment
//   script.sh         the script for sbatch
//   submission.json   the run of each task; written last: with it the submission is prepared
//   job_id, refused   the answer of sbatch; neither: the answer was not heard
struct Submission {
  std::string name;  // of the cluster's job too, and unique: without an answer it is found by it
  std::filesystem::path folder;
  std::vector<std::string> run_ids;  // by task
  std::int64_t job_id = 0;           // 0: not accepted
  std::string refusal;               // sbatch's words; empty: not refused
};

struct SubmitOptions {
  std::filesystem::path trainyard;    // the program, where the nodes see it
  std::filesystem::path work_folder;  // where jobs run
  int at_once = 0;                    // of one array's tasks; 0: no limit. Those of a lane run one by one
};

// The array waits until the cluster's jobs `after` have ended. REQUIRES: jobs of equal resources, time limits
// and lanes, at most as many as the cluster's arrays have.
Submission prepare_submission(const Folder& folder, std::span<const Job> jobs, const SubmitOptions& options,
                              const std::vector<std::int64_t>& after = {});

// Hands the submission to sbatch and keeps the answer. After a kill in between, find_answer() finds it later.
void submit(Submission& submission);

// Looks for the job of an unanswered submission in the cluster, by name. If it still has no answer
// afterwards, it was never handed over.
void find_answer(Submission& submission, const Cluster& cluster);

std::vector<Submission> read_submissions(const Folder& folder);  // prepared ones, in the order they were made
Job read_job(const Submission& submission, int task);

// Submits a job that runs `trainyard study collect FOLDER` after the arrays, however they end. Returns "" or
// why there is none.
std::string submit_collector(const Folder& folder, std::span<const Submission> arrays, const Resources& like,
                             const SubmitOptions& options);

}  // namespace trainyard::study::slurm
