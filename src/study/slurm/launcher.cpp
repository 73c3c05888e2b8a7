#include "study/slurm/launcher.h"

#include <chrono>

namespace trainyard::study::slurm {
namespace {

constexpr double kSliceSeconds = 0.05;  // how long Ctrl-C waits to be seen

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

Outcome refused(const Submission& submission) {
  return {record::Status::refused, "refused by Slurm: " + submission.refusal, 0};
}

// Calls `use(task)` for each task without a record.
template <typename Use>
void for_each_unrecorded(const Submission& submission, const std::vector<std::string>& recorded,
                         const Use& use) {
  for (std::size_t task = 0; task < submission.run_ids.size(); ++task)
    if (!std::binary_search(recorded.begin(), recorded.end(), submission.run_ids[task]))
      use(static_cast<int>(task));
}

// Moves the first jobs that can share an array out of `jobs`.
std::vector<Job> take_group(std::vector<Job>& jobs, std::size_t most) {
  const Resources resources = jobs.front().resources;
  const double limit = jobs.front().time_limit_seconds;
  const std::string lane = jobs.front().lane;
  std::vector<Job> group, rest;
  for (Job& job : jobs) {
    const bool fits = group.size() < most && job.resources == resources && job.time_limit_seconds == limit &&
                      job.lane == lane;
    (fits ? group : rest).push_back(std::move(job));
  }
  jobs = std::move(rest);
  return group;
}

}  // namespace

SlurmLauncher::SlurmLauncher(Folder folder, LauncherOptions options)
    : folder_{std::filesystem::absolute(folder.path)}, options_(std::move(options)) {}

void SlurmLauncher::say(const std::string& line) const {
  if (options_.say) options_.say(line);
}

void SlurmLauncher::follow(const Submission& submission, int task, Job job, Tracker& tracker,
                           const Finished& finished) const {
  if (submission.job_id == 0)
    finished(keep_record(missing_record(job, refused(submission)), folder_));
  else
    tracker.add(submission, task, std::move(job));
}

// Tracks the jobs that an earlier launcher submitted, and returns the others.
std::vector<Job> SlurmLauncher::adopt(std::span<const Job> jobs, const Cluster& cluster, Tracker& tracker,
                                      const Finished& finished) {
  std::map<std::pair<std::string, int>, Job> wanted;
  for (const Job& job : jobs) wanted.emplace(std::pair(job.cell, job.replicate), job);
  const std::vector<std::string> recorded = recorded_runs(folder_);
  for (Submission& submission : read_submissions(folder_)) {
    std::vector<std::pair<int, Job>> found;
    for_each_unrecorded(submission, recorded, [&](int task) {
      Job job = read_job(submission, task);
      if (wanted.erase({job.cell, job.replicate}) > 0) found.emplace_back(task, std::move(job));
    });
    if (found.empty()) continue;
    if (submission.job_id == 0 && submission.refusal.empty()) find_answer(submission, cluster);
    if (submission.job_id == 0 && submission.refusal.empty()) submit(submission);
    for (auto& [task, job] : found) follow(submission, task, std::move(job), tracker, finished);
  }
  if (tracker.watched() > 0) say(fmt::format("{} runs are in Slurm's queue already", tracker.watched()));
  std::vector<Job> rest;
  for (const Job& job : jobs)
    if (wanted.contains({job.cell, job.replicate})) rest.push_back(job);
  return rest;
}

void SlurmLauncher::submit_all(std::vector<Job> jobs, const Cluster& cluster, Tracker& tracker,
                               const Finished& finished, const Stop& stop) {
  std::vector<Submission> accepted;
  Resources like;
  while (!jobs.empty() && !stop()) {
    const std::vector<Job> group = take_group(jobs, static_cast<std::size_t>(cluster.max_array_tasks()));
    const std::string& lane = group.front().lane;
    const auto before = lane.empty() ? std::vector<std::int64_t>() : tracker.arrays_in(lane);
    Submission submission = prepare_submission(folder_, group, options_.submit, before);
    submit(submission);
    for (std::size_t task = 0; task < group.size(); ++task)
      follow(submission, static_cast<int>(task), group[task], tracker, finished);
    if (submission.job_id == 0) continue;
    if (accepted.empty()) like = group.front().resources;
    accepted.push_back(std::move(submission));
  }
  if (accepted.empty() || !options_.collector) return;
  const std::string problem = submit_collector(folder_, accepted, like, options_.submit);
  if (!problem.empty()) say("no collector job: " + problem);
}

void SlurmLauncher::settle() { make_missing_records(folder_, options_.grace_seconds); }

void SlurmLauncher::run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) {
  if (jobs.empty()) return;
  const Cluster cluster;
  Tracker tracker(folder_, cluster, options_.grace_seconds);
  submit_all(adopt(jobs, cluster, tracker, finished), cluster, tracker, finished, stop);
  double interval = options_.poll_seconds;
  bool said_silent = false;
  while (tracker.watched() > 0) {
    for (double waited = 0; waited < interval; waited += kSliceSeconds) {
      if (stop())
        return say(
            fmt::format("{} runs stay in Slurm's queue and go on: the same command waits for them again, "
                        "'trainyard study cancel {}' ends them",
                        tracker.watched(), folder_.path.string()));
      pause(kSliceSeconds);
    }
    interval = tracker.look(finished) ? options_.poll_seconds
                                      : std::min(interval * 1.3, options_.longest_poll_seconds);
    if (!tracker.cluster_answers() && !std::exchange(said_silent, true))
      say("Slurm's controller does not answer; waiting for it");
  }
}

std::string note_in_flight(const Folder& folder, StudyProgress& progress) {
  std::map<std::string, RunState*> states;  // by the run's name without its attempt
  for (RunState& state : progress.states)
    if (!state.done()) states[fmt::format("{}-r{}", state.planned.cell, state.planned.replicate)] = &state;
  std::optional<Cluster> cluster;
  const std::vector<std::string> recorded = recorded_runs(folder);
  try {
    for (const Submission& submission : read_submissions(folder)) {
      std::vector<int> tasks;
      for_each_unrecorded(submission, recorded, [&](int task) { tasks.push_back(task); });
      if (submission.job_id == 0 || tasks.empty()) continue;
      if (!cluster) cluster.emplace();
      const auto known = cluster->states(submission.job_id, tasks);
      if (!known) return "Slurm's controller does not answer";
      for (const int task : tasks) {
        const std::string& run = submission.run_ids[static_cast<std::size_t>(task)];
        const auto place = states.find(run.substr(0, run.rfind("-a")));
        const auto state = known->find(task);
        if (place == states.end() || state == known->end() || state->second.final()) continue;
        place->second->flight = state->second.waits() ? RunState::Flight::queued : RunState::Flight::running;
      }
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

int make_missing_records(const Folder& folder, double grace_seconds) {
  const std::vector<Submission> submissions = read_submissions(folder);
  const std::vector<std::string> recorded = recorded_runs(folder);
  int made = 0;
  const auto count = [&](const record::RunRecord&) { ++made; };
  std::optional<Cluster> cluster;  // asked only when there is something to ask
  std::optional<Tracker> tracker;
  for (const Submission& submission : submissions)
    for_each_unrecorded(submission, recorded, [&](int task) {
      if (!submission.refusal.empty())
        count(keep_record(missing_record(read_job(submission, task), refused(submission)), folder));
      if (submission.job_id == 0) return;
      if (!tracker) tracker.emplace(folder, cluster.emplace(), grace_seconds);
      tracker->add(submission, task, read_job(submission, task));
    });
  while (tracker) {
    tracker->look(count);
    if (!tracker->settling() || !tracker->cluster_answers()) break;
    pause(0.2);
  }
  return made;
}

int cancel(const Folder& folder) {
  const std::vector<std::string> recorded = recorded_runs(folder);
  int cancelled = 0;
  for (const Submission& submission : read_submissions(folder)) {
    int unfinished = 0;
    for_each_unrecorded(submission, recorded, [&](int) { ++unfinished; });
    if (submission.job_id == 0 || unfinished == 0) continue;
    run_command({"scancel", std::to_string(submission.job_id)});
    cancelled += unfinished;
  }
  return cancelled;
}

}  // namespace trainyard::study::slurm
