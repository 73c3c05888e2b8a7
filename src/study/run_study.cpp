#include "study/run_study.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/philox.h"
#include "meter/build_info.h"
#include "study/study_lock.h"

namespace trainyard::study {
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

void keep_spec(const Folder& folder, const Spec& spec) {
  refuse_foreign(folder);
  make_folders(folder.path);
  if (!fs::exists(folder.spec()) || content_of(folder.spec()) == spec.text)
    return write_once(folder.spec(), spec.text);
  // A changed file: the old one stays.
  write_once(folder.path / fmt::format("study-{:016x}.yaml", stream_of(spec.text.c_str())), spec.text);
}

// Highest attempt that was ever begun, by "CELL-rREPLICATE": a run that was killed left a log and no record.
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

// Takes out the jobs of cells that are known to be impossible, and gives each its record.
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

Progress run_expected(const Folder& folder, const ExpectedRuns& expected, const RetryPolicy& retry,
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
  // Later, because what disturbed a run is often still there in the next minute. Each round adds an attempt
  // to every run that it repeats, so that the policy ends them.
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

Progress run_study(const StudyRun& run, Launcher& launcher, const Watcher& watcher) {
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
