#include "study/slurm/tracker.h"

#include "base/clock.h"
#include "base/file.h"
#include "study/slurm/node_list.h"

namespace trainyard::study::slurm {

namespace {

// A batch job's command runs on the first of its nodes.
std::string first_node(const std::string& nodes) {
  try {
    const auto all = expand_node_list(nodes);
    return all.empty() ? "" : all.front();
  } catch (const Error&) {
    return nodes;
  }
}

}  // namespace

record::RunRecord missing_record(const Job& job, const Outcome& outcome) {
  record::RunRecord run;
  identify(run, job);
  run.status = outcome.status;
  run.reason = outcome.reason;
  run.exit_code = outcome.exit_code;
  return run;
}

record::RunRecord missing_record(const Job& job, const TaskState& state) {
  record::RunRecord run = missing_record(job, outcome_of(state));
  run.node = first_node(state.nodes);
  run.started_seconds = state.started_seconds;
  if (state.started_seconds > 0)
    run.wall_seconds = std::max(0.0, state.ended_seconds - state.started_seconds);
  run.provenance = {{"slurm", "array_job_id", state.job_id},
                    {"slurm", "array_task_id", std::int64_t{state.task}},
                    {"slurm", "state", state.state}};
  if (!state.nodes.empty()) run.provenance.push_back({"slurm", "node_list", state.nodes});
  return run;
}

record::RunRecord keep_record(const record::RunRecord& run, const Folder& folder) {
  const std::filesystem::path path = folder.record(run.id);
  if (std::filesystem::exists(path)) return record::read_run_record(path);
  make_folders(folder.records());
  record::write_run_record(run, path);
  return run;
}

void Tracker::add(const Submission& submission, int task, Job job) {
  tasks_.push_back({std::move(job), submission.job_id, task});
}

std::vector<std::int64_t> Tracker::arrays_in(const std::string& lane) const {
  std::set<std::int64_t> arrays;
  for (const Task& task : tasks_)
    if (task.job.lane == lane) arrays.insert(task.job_id);
  return {arrays.begin(), arrays.end()};
}

bool Tracker::settling() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) { return task.ended_since >= 0; });
}

bool Tracker::look(const Finished& finished) {
  const std::size_t before = tasks_.size();
  // One listing replaces a query for each file, because shared folders answer those from a stale cache.
  const std::vector<std::string> recorded = recorded_runs(folder_);
  std::erase_if(tasks_, [&](const Task& task) {
    if (!std::binary_search(recorded.begin(), recorded.end(), task.job.run_id)) return false;
    finished(record::read_run_record(folder_.record(task.job.run_id)));
    return true;
  });

  std::map<std::int64_t, std::vector<int>> arrays;
  for (const Task& task : tasks_) arrays[task.job_id].push_back(task.task);
  answers_ = true;
  for (const auto& [job_id, numbers] : arrays) {
    const auto states = cluster_.states(job_id, numbers);
    if (!states) {
      answers_ = false;
      continue;
    }
    std::erase_if(tasks_, [&, id = job_id](Task& task) {
      if (task.job_id != id) return false;
      const auto state = states->find(task.task);
      return settle(task, state == states->end() ? nullptr : &state->second, finished);
    });
  }
  return tasks_.size() < before;
}

bool Tracker::settle(Task& task, const TaskState* state, const Finished& finished) {
  if (state != nullptr && !state->final()) {
    task.ended_since = -1;
    return false;
  }
  // A task that Slurm ended leaves no record, while one that ended by itself should have one.
  const bool ended_by_itself = state == nullptr || state->state == "COMPLETED" || state->state == "FAILED";
  const double now = now_seconds();
  if (task.ended_since < 0) task.ended_since = now;
  if (ended_by_itself && now - task.ended_since < grace_seconds_) return false;
  finished(keep_record(state == nullptr ? forgotten(task) : missing_record(task.job, *state), folder_));
  return true;
}

// A task cancelled before it started leaves no trace in Slurm; one that started has a log.
record::RunRecord Tracker::forgotten(const Task& task) const {
  const bool started = std::filesystem::exists(folder_.log(task.job.run_id));
  const std::string id = fmt::format("{}_{}", task.job_id, task.task);
  if (started)
    return missing_record(task.job,
                          Outcome{record::Status::crash, "lost: Slurm knows no end of job " + id, 0});
  return missing_record(
      task.job, Outcome{record::Status::cancelled, "left Slurm's queue before it started, as job " + id, 0});
}

std::vector<std::string> recorded_runs(const Folder& folder) {
  std::vector<std::string> runs;
  if (!std::filesystem::is_directory(folder.records())) return runs;
  for (const auto& entry : std::filesystem::directory_iterator(folder.records()))
    if (entry.path().extension() == ".json") runs.push_back(entry.path().stem().string());
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace trainyard::study::slurm
