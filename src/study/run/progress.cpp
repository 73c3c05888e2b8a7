#include "study/run/progress.h"

#include <iterator>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "record/build.h"

namespace trainyard::study {

namespace {

// The driver counts over periods of up to a second, so with fewer looks it may have missed the work.
constexpr int kFewestLooks = 8;

std::string hosts_in(const record::RunRecord& run) {
  const auto found = run.details.find("hosts");
  if (found == run.details.end()) return run.node;
  std::vector<std::string> names;
  for (const auto& host : parse_json_or_discard(found->second))
    if (host.is_object()) names.push_back(host.value("name", ""));
  return joined(names, ", ");
}

bool starts_itself_everywhere(const Job& job) {
  const std::string program =
      job.command.empty() ? "" : std::filesystem::path(job.command.front()).filename().string();
  return job.kind == "program" && (program == "srun" || program == "mpirun" || program == "mpiexec");
}

void check_nodes(const Job& job, record::RunRecord& run) {
  const int asked = job.resources.nodes;
  if (asked < 2 || run.status != record::Status::ok) return;
  const double used = run.figure_or("nodes_used", 0);
  if (used >= asked || (used == 0 && starts_itself_everywhere(job))) return;
  run.warnings.push_back(
      {"nodes",
       used > 0
           ? fmt::format("{} nodes asked for, {:.0f} did work: {}", asked, used, hosts_in(run))
           : fmt::format("{} nodes asked for; it was started on the first, and nothing says that it used "
                         "the others",
                         asked)});
}

void check_devices(const Job& job, record::RunRecord& run) {
  const auto asked = job.settings.find("devices");
  const double used = run.figure_or("devices_used", 0);
  if (asked == job.settings.end() || used == 0 || run.status != record::Status::ok) return;
  if (used < record::number_or(asked->second, 0))
    run.warnings.push_back({"devices", fmt::format("{} devices asked for, {:.0f} did work",
                                                   record::to_text(asked->second), used)});
}

// Checks only where the study names CPUs; otherwise there are as many as threads.
void check_cpus(const Job& job, record::RunRecord& run) {
  const Resources& resources = job.resources;
  const int asked = resources.cpus_per_task * resources.tasks_per_node * resources.nodes;
  const double threads = run.figure_or("threads", 0);
  if (!job.settings.contains("cpus_per_task") || threads == 0 || threads >= asked) return;
  run.warnings.push_back({"cores", fmt::format("{} CPUs asked for, {:.0f} threads ran", asked, threads)});
}

}  // namespace

void check_use(const Job& job, record::RunRecord& run) {
  check_nodes(job, run);
  check_devices(job, run);
  check_cpus(job, run);
}

void check_gpus(const Job& job, const std::vector<meter::GpuActivity::Gpu>& seen, record::RunRecord& run) {
  const int asked = job.resources.gpus_per_node;
  if (asked < 1 || run.status != record::Status::ok) return;
  std::vector<std::string> idle;
  int busy = 0;
  for (const meter::GpuActivity::Gpu& gpu : seen) {
    if (gpu.looks < kFewestLooks) return;
    if (gpu.busiest_fraction >= meter::kGpuBusyFraction)
      ++busy;
    else
      idle.push_back(fmt::format("GPU {} ({})", gpu.number, gpu.name));
  }
  run.figures["gpus_used"] = busy;
  if (seen.empty() || busy >= asked) return;
  run.warnings.push_back({"gpus", fmt::format("{} GPUs asked for, {} did work; idle all the time: {}", asked,
                                              busy, joined(idle, ", "))});
}

namespace {

namespace fs = std::filesystem;

// Returns every record of a file: one, or one a line.
std::vector<record::RunRecord> records_in(const fs::path& file) {
  if (file.extension() == ".json") return {record::read_run_record(file)};
  const std::vector<std::byte> content = read_file(file);
  std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  std::vector<record::RunRecord> runs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    try {
      runs.push_back(record::run_record_from_json(line));
    } catch (const Error& error) {
      fail(error.kind(), "'{}' line {}: {}", file.string(), runs.size() + 1, error.what());
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return runs;
}

// Calls `visit` with the records of every file whose naming run `known` does not accept, in the order of file
// names. Files of several runs are named by their last, which a store also takes last.
void each_new_record(const Folder& folder, const std::function<bool(const std::string&)>& known,
                     const std::function<void(const std::vector<record::RunRecord>&)>& visit,
                     std::vector<std::string>& complaints) {
  if (!fs::is_directory(folder.records())) return;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.records())) {
    const fs::path& file = entry.path();
    const bool holds_records = file.extension() == ".json" || file.extension() == ".jsonl";
    if (holds_records && !known(file.stem().string())) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    try {
      visit(records_in(file));
    } catch (const Error& error) {
      complaints.emplace_back(error.what());
    }
  }
}

using RunKey = std::pair<std::string, int>;  // cell, replicate

void note(RunState& state, const record::RunRecord& run) {
  ++state.attempts;
  if (run.status == record::Status::ok && record::is_disturbed(run)) ++state.disturbed;
  const bool speaks =
      !state.result || (run.attempt > state.result->attempt ? record::speaks_instead(run, *state.result)
                                                            : !record::speaks_instead(*state.result, run));
  if (speaks) state.result = run;
}

}  // namespace

std::int64_t StudyProgress::done() const {
  return std::count_if(states.begin(), states.end(), std::mem_fn(&RunState::done));
}

std::int64_t StudyProgress::missing() const {
  return std::count_if(states.begin(), states.end(), [](const RunState& state) {
    return !state.result && state.flight == RunState::Flight::none;
  });
}

std::int64_t StudyProgress::in_flight(RunState::Flight flight) const {
  return std::count_if(states.begin(), states.end(),
                       [&](const RunState& state) { return state.flight == flight; });
}

const char* RunState::status_name() const {
  if (flight == Flight::queued) return "queued";
  if (flight == Flight::running) return "running";
  return result ? name(result->status) : "missing";
}

std::map<record::Status, std::int64_t> StudyProgress::failed() const {
  std::map<record::Status, std::int64_t> counts;
  for (const RunState& state : states)
    if (state.result && !state.done() && state.flight == RunState::Flight::none)
      ++counts[state.result->status];
  return counts;
}

std::vector<record::RunRecord> runs_of(const Folder& folder) {
  const store::Store store(folder.store(), store::Store::Access::read);
  std::vector<record::RunRecord> runs = store.runs();
  std::vector<std::string> complaints;  // whoever ingests tells them
  each_new_record(
      folder, [&](const std::string& id) { return store.contains(id); },
      [&](const std::vector<record::RunRecord>& found) {
        std::copy_if(found.begin(), found.end(), std::back_inserter(runs),
                     [&](const record::RunRecord& run) { return !store.contains(run.id); });
      },
      complaints);
  return runs;
}

std::vector<record::RunRecord> runs_of_build(const Folder& folder, const std::string& build) {
  std::vector<record::RunRecord> runs = runs_of(folder);
  const std::string wanted =
      build.empty() ? record::newest_build(runs) : record::find_build(build, record::builds_of(runs));
  std::erase_if(runs, [&](const record::RunRecord& run) { return record::build_of(run) != wanted; });
  return runs;
}

StudyProgress progress_of(const Folder& folder, const std::optional<std::string>& build) {
  const store::Store store(folder.store(), store::Store::Access::read);
  const std::vector<record::RunRecord> runs = runs_of(folder);
  StudyProgress progress;
  progress.study = store.study();
  progress.build = build.value_or(record::newest_build(runs));
  progress.other_builds = record::builds_of(runs);
  std::erase(progress.other_builds, progress.build);
  std::map<RunKey, std::size_t> places;
  for (store::PlannedRun& planned : store.planned()) {
    places[{planned.cell, planned.replicate}] = progress.states.size();
    progress.states.push_back({.planned = std::move(planned)});
  }
  for (const record::RunRecord& run : runs) {
    const auto place = places.find({run.cell, run.replicate});
    if (place != places.end()) {
      int& last = progress.states[place->second].last_attempt;
      last = std::max(last, run.attempt);
    }
    if (record::build_of(run) != progress.build) continue;
    if (place != places.end())
      note(progress.states[place->second], run);
    else if (run.status == record::Status::ok)
      progress.unplanned.push_back(run);
  }
  return progress;
}

void note_running(const Folder& folder, StudyProgress& progress) {
  if (!StudyLock::is_held(folder)) return;
  for (RunState& state : progress.states) {
    if (state.done()) continue;
    // An attempt begins with its log, or that of its set-up, and ends with its record.
    const std::string next =
        fmt::format("{}-r{}-a{}", state.planned.cell, state.planned.replicate, state.last_attempt + 1);
    if (fs::exists(folder.log(next)) || fs::exists(folder.logs() / (next + ".setup.log")))
      state.flight = RunState::Flight::running;
  }
}

int ingest(const Folder& folder, store::Store& store, std::vector<std::string>& complaints) {
  int added = 0;
  each_new_record(
      folder, [&](const std::string& id) { return store.contains(id); },
      [&](const std::vector<record::RunRecord>& found) { added += store.add(found); }, complaints);
  return added;
}

}  // namespace trainyard::study
