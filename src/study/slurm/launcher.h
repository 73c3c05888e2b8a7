#pragma once

#include "study/run/folder.h"
#include "study/run/progress.h"
#include "study/run/run_study.h"
#include "study/slurm/cluster.h"
#include "study/slurm/submission.h"
#include "study/slurm/tracker.h"

namespace trainyard::study::slurm {

struct LauncherOptions {
  SubmitOptions submit;
  double poll_seconds = 2, longest_poll_seconds = 30;  // the pause grows while nothing happens
  double grace_seconds = 5;                            // see Tracker
  bool collector = true;                               // submit a job that collects after the last
  std::function<void(const std::string&)> say;         // one line for people; may be empty
};

// SlurmLauncher runs jobs as arrays of the cluster that this machine submits to. Jobs of equal resources,
// time limits and lanes share an array, and arrays of one lane wait for each other. It waits for runs of the
// same cell and replicate that are in the cluster already, and does not submit them again. At `stop`
// everything stays in the queue and goes on.
class SlurmLauncher : public Launcher {
 public:
  SlurmLauncher(Folder folder, LauncherOptions options);

  void settle() override;
  void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  std::vector<Job> adopt(std::span<const Job> jobs, const Cluster& cluster, Tracker& tracker,
                         const Finished& finished);
  void submit_all(std::vector<Job> jobs, const Cluster& cluster, Tracker& tracker, const Finished& finished,
                  const Stop& stop);
  void follow(const Submission& submission, int task, Job job, Tracker& tracker,
              const Finished& finished) const;
  void say(const std::string& line) const;

  Folder folder_;
  LauncherOptions options_;
};

// Marks the runs that wait in the cluster's queue and those that run. Returns why the cluster could not be
// asked; "" when it could, or there was nothing to ask.
std::string note_in_flight(const Folder& folder, StudyProgress& progress);

// Makes the records that are due: of tasks that ended without one, or were refused. Returns how many.
int make_missing_records(const Folder& folder, double grace_seconds = 5);

// Removes the study's unfinished jobs from the cluster; returns the number of their runs.
int cancel(const Folder& folder);

}  // namespace trainyard::study::slurm
