#include "study/slurm/missing_record.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
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

}  // namespace trainyard::study::slurm
