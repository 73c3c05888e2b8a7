#include "study/run_study.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/philox.h"
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

void prepare(const Folder& folder, const Spec& spec) {
  refuse_foreign(folder);
  for (const fs::path& path : {folder.path, folder.records(), folder.logs()}) make_folders(path);
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

std::vector<Job> jobs_to_start(const StudyRun& run, const Progress& progress) {
  const std::map<std::string, int> begun = attempts_begun(run.folder);
  std::vector<Job> jobs;
  for (const RunState& state : progress.states) {
    if (state.result && !runs_again(*state.result, run.retry)) continue;
    const auto last = begun.find(fmt::format("{}-r{}", state.planned.cell, state.planned.replicate));
    const int attempt = last == begun.end() ? 1 : last->second + 1;
    jobs.push_back(make_job(run.spec, state.planned, attempt, run.trainyard));
  }
  return jobs;
}

// Takes out the jobs of cells that are known to be impossible, and gives each its record.
void refuse_impossible(const StudyRun& run, std::vector<Job>& jobs, const Launcher::Finished& finished) {
  std::map<std::string, std::string> reasons;
  for (const Cell& cell : run.plan.cells)
    if (!cell.refused.empty()) reasons[cell.hash] = cell.refused;
  const auto kept = std::stable_partition(jobs.begin(), jobs.end(),
                                          [&](const Job& job) { return !reasons.contains(job.cell); });
  for (auto job = kept; job != jobs.end(); ++job) {
    const record::RunRecord refused = refused_record(*job, reasons.at(job->cell));
    record::write_run_record(refused, run.folder.record(refused.id));
    finished(refused);
  }
  jobs.erase(kept, jobs.end());
}

}  // namespace

Progress run_study(const StudyRun& run, Launcher& launcher, const Watcher& watcher) {
  prepare(run.folder, run.spec);
  const StudyLock lock(run.folder);
  store::Store store(run.folder.store(), store::Store::Access::write);
  store.plan(run.spec.name, run.plan.runs);
  launcher.settle();
  std::vector<std::string> complaints;
  ingest(run.folder, store, complaints);
  for (const std::string& complaint : complaints) watcher.remarks(complaint);

  std::vector<Job> jobs = jobs_to_start(run, progress_of(run.folder));
  watcher.begins(static_cast<std::int64_t>(jobs.size()));
  const Launcher::Finished finished = [&](const record::RunRecord& record) {
    store.add(record);
    watcher.finished(record);
  };
  refuse_impossible(run, jobs, finished);
  launcher.run(jobs, finished, watcher.stop);
  return progress_of(run.folder);
}

}  // namespace trainyard::study
