#pragma once

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/slurm/cluster.h"
#include "study/slurm/state.h"
#include "study/slurm/submission.h"
#include "study/spec/job.h"

namespace trainyard::study::slurm {

// Makes the record of a job that could not leave one itself: refused, cancelled, lost with its node, ...
record::RunRecord missing_record(const Job& job, const Outcome& outcome);
record::RunRecord missing_record(const Job& job, const TaskState& state);

// Writes the record file, unless there is one: then that one counts and is returned.
record::RunRecord keep_record(const record::RunRecord& run, const Folder& folder);

// Tracker watches tasks until each has a record: the one that its node wrote, or one made from Slurm's state.
class Tracker {
 public:
  using Finished = std::function<void(const record::RunRecord&)>;

  // `grace_seconds` is the time that an expected record may take to appear in a shared folder.
  Tracker(Folder folder, const Cluster& cluster, double grace_seconds)
      : folder_(std::move(folder)), cluster_(cluster), grace_seconds_(grace_seconds) {}

  // REQUIRES: the submission was accepted.
  void add(const Submission& submission, int task, Job job);

  // Looks once; returns true when a task finished. Finished tasks are no longer watched.
  bool look(const Finished& finished);

  std::size_t watched() const { return tasks_.size(); }
  std::vector<std::int64_t> arrays_in(const std::string& lane) const;  // the cluster's jobs
  bool settling() const;                             // some task has ended and only its record is waited for
  bool cluster_answers() const { return answers_; }  // at the last look

 private:
  struct Task {
    Job job;
    std::int64_t job_id;
    int task;
    double ended_since = -1;  // when it was first seen to have ended, or to be forgotten
  };

  record::RunRecord forgotten(const Task& task) const;
  bool settle(Task& task, const TaskState* state, const Finished& finished);

  Folder folder_;
  const Cluster& cluster_;
  double grace_seconds_;
  bool answers_ = true;
  std::vector<Task> tasks_;
};

// Returns the names of the runs that have record files.
std::vector<std::string> recorded_runs(const Folder& folder);  // sorted

}  // namespace trainyard::study::slurm
