#include "study/run/run_study.h"

#include <charconv>
#include <exception>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "meter/clock_pin.h"
#include "meter/provenance.h"
#include "record/build.h"
#include "study/run/supervise.h"
#include "study/spec/file_networks.h"

namespace trainyard::study {

namespace {

struct Lane {
  std::string name;
  std::vector<const Job*> jobs;
  std::exception_ptr failure;
};

std::vector<Lane> lanes_of(std::span<const Job> jobs) {
  std::vector<Lane> lanes;
  for (const Job& job : jobs) {
    auto lane =
        std::find_if(lanes.begin(), lanes.end(), [&](const Lane& one) { return one.name == job.lane; });
    if (lane == lanes.end()) lane = lanes.insert(lane, {job.lane, {}, nullptr});
    lane->jobs.push_back(&job);
  }
  return lanes;
}

}  // namespace

void LocalLauncher::settle() {
  meter::put_back_clocks(folder_.logs());
  run_owed_cleanups(folder_);
}

void LocalLauncher::run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) {
  std::vector<Lane> lanes = lanes_of(jobs);
  Mutex one_at_a_time;
  const auto run_lane = [&](Lane& lane) {
    try {
      for (const Job* job : lane.jobs) {
        if (stop()) return;
        const record::RunRecord run = supervise(*job, folder_, stop);
        const MutexLock lock(one_at_a_time);
        finished(run);
      }
    } catch (...) {
      lane.failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < lanes.size(); ++i) threads.emplace_back(run_lane, std::ref(lanes[i]));
    if (!lanes.empty()) run_lane(lanes.front());
  }
  for (const Lane& lane : lanes)
    if (lane.failure) std::rethrow_exception(lane.failure);
}

namespace {

using record::Status;

constexpr std::array kOnRequest{Status::failed, Status::nan,     Status::diverged,
                                Status::oom,    Status::timeout, Status::refused};
constexpr std::array kAlways{Status::crash, Status::cancelled, Status::interrupted};

std::string allowed_names() {
  std::string names;
  for (const Status status : kOnRequest) names += fmt::format("{}, ", name(status));
  return names + "all";
}

}  // namespace

RetryPolicy parse_retry_policy(const std::string& text) {
  RetryPolicy policy;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto status = record::find_status(word);
    if (word == "all") {
      policy.statuses.insert(kOnRequest.begin(), kOnRequest.end());
    } else if (status && *status != Status::ok) {
      policy.statuses.insert(*status);
    } else {
      fail(ErrorKind::usage, "retry '{}': not one of {}", word, allowed_names());
    }
  }
  return policy;
}

bool runs_again(const record::RunRecord& run, const RetryPolicy& policy) {
  for (const Status status : kAlways)
    if (run.status == status) return true;
  return policy.statuses.contains(run.status);
}

bool repeats_disturbed(const RunState& state, const RetryPolicy& policy) {
  return state.done() && record::is_disturbed(*state.result) && state.disturbed <= policy.disturbed;
}

namespace {

namespace fs = std::filesystem;

void write_once(const fs::path& path, const std::string& text) {
  if (fs::exists(path)) return;
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string content_of(const fs::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where the text has changed, the old one stays.
void keep_text(const fs::path& file, const std::string& text) {
  if (!fs::exists(file) || content_of(file) == text) return write_once(file, text);
  const std::string name =
      fmt::format("{}-{:016x}{}", file.stem().string(), stream_of(text.c_str()), file.extension().string());
  write_once(file.parent_path() / name, text);
}

void keep_spec(const Folder& folder, const Spec& spec) {
  refuse_foreign(folder);
  make_folders(folder.path);
  keep_text(folder.spec(), spec.text);
  if (!spec.networks.empty()) keep_text(folder.networks(), to_json(spec.networks));
}

// Returns the highest attempt that was ever begun, by "CELL-rREPLICATE". A killed run left a log and no
// record.
std::map<std::string, int> attempts_begun(const Folder& folder) {
  std::map<std::string, int> highest;
  for (const fs::path& place : {folder.logs(), folder.records()})
    for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
      const std::string id = entry.path().stem().string();
      const std::size_t at = id.rfind("-a");
      int attempt = 0;
      if (at == std::string::npos) continue;
      std::from_chars(id.data() + at + 2, id.data() + id.size(), attempt);
      int& known = highest[id.substr(0, at)];
      known = std::max(known, attempt);
    }
  return highest;
}

record::RunRecord refused_record(const Job& job, const std::string& reason) {
  record::RunRecord run;
  identify(run, job);
  run.status = record::Status::refused;
  run.reason = reason;
  run.started_seconds = wall_seconds();
  return run;
}

using Wanted = std::function<bool(const RunState&)>;

std::vector<Job> jobs_to_start(const Folder& folder, const ExpectedRuns& expected, const Wanted& wanted) {
  const std::map<std::string, int> begun = attempts_begun(folder);
  std::vector<Job> jobs;
  for (const RunState& state : progress_of(folder, expected.build).states) {
    if (!wanted(state)) continue;
    const auto last = begun.find(fmt::format("{}-r{}", state.planned.cell, state.planned.replicate));
    const int attempt = last == begun.end() ? 1 : last->second + 1;
    jobs.push_back(expected.make_job(state.planned, attempt));
  }
  return jobs;
}

// Removes the jobs of cells that are known to be impossible, and gives each its record.
void refuse_impossible(const Folder& folder, const std::map<std::string, std::string>& reasons,
                       std::vector<Job>& jobs, const Launcher::Finished& finished) {
  const auto kept = std::stable_partition(jobs.begin(), jobs.end(),
                                          [&](const Job& job) { return !reasons.contains(job.cell); });
  for (auto job = kept; job != jobs.end(); ++job) {
    const record::RunRecord refused = refused_record(*job, reasons.at(job->cell));
    record::write_run_record(refused, folder.record(refused.id));
    finished(refused);
  }
  jobs.erase(kept, jobs.end());
}

}  // namespace

StudyProgress run_expected(const Folder& folder, const ExpectedRuns& expected, const RetryPolicy& retry,
                           Launcher& launcher, const Watcher& watcher) {
  refuse_foreign(folder);
  for (const fs::path& path : {folder.path, folder.records(), folder.logs()}) make_folders(path);
  const StudyLock lock(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  store.plan(expected.study, expected.runs);
  launcher.settle();
  std::vector<std::string> complaints;
  ingest(folder, store, complaints);
  for (const std::string& complaint : complaints) watcher.remarks(complaint);

  const Wanted disturbed = [&](const RunState& state) { return repeats_disturbed(state, retry); };
  std::vector<Job> jobs = jobs_to_start(folder, expected, [&](const RunState& state) {
    return !state.result || runs_again(*state.result, retry) || disturbed(state);
  });
  watcher.begins(static_cast<std::int64_t>(jobs.size()));
  const Launcher::Finished finished = [&](const record::RunRecord& record) {
    store.add(record);
    watcher.finished(record);
  };
  refuse_impossible(folder, expected.refused, jobs, finished);
  launcher.run(jobs, finished, watcher.stop);
  // Repeats come later, because the disturbance of a run is often still there in the next minute. Each round
  // adds an attempt to every run that it repeats, so the policy ends the rounds.
  while (!watcher.stop()) {
    jobs = jobs_to_start(folder, expected, disturbed);
    if (jobs.empty()) break;
    watcher.remarks(fmt::format("{} run{} disturbed: once more, both are kept", jobs.size(),
                                jobs.size() == 1 ? " was" : "s were"));
    watcher.begins(static_cast<std::int64_t>(jobs.size()));
    launcher.run(jobs, finished, watcher.stop);
  }
  return progress_of(folder, expected.build);
}

std::string expected_build(const Spec& spec) {
  const bool names_itself = spec.build.empty() && spec.run != "program";
  return names_itself ? meter::build_id() : spec.build;
}

StudyProgress run_study(const StudyRun& run, Launcher& launcher, const Watcher& watcher) {
  keep_spec(run.folder, run.spec);
  ExpectedRuns expected{.study = run.spec.name,
                        .build = expected_build(run.spec),
                        .runs = run.plan.runs,
                        .make_job = [&](const store::PlannedRun& planned, int attempt) {
                          return make_job(run.spec, planned, attempt, run.trainyard);
                        }};
  for (const Cell& cell : run.plan.cells)
    if (!cell.refused.empty()) expected.refused[cell.hash] = cell.refused;
  return run_expected(run.folder, expected, run.retry, launcher, watcher);
}

}  // namespace trainyard::study
