#include "study/slurm/node_task.h"

#include <csignal>
#include <cstdlib>
#include <thread>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "study/slurm/job_fields.h"
#include "study/slurm/submission.h"
#include "study/supervise.h"

namespace trainyard::study::slurm {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Slurm's name of the node: several may share a host.
void add_slurm_facts(const Job& job, record::RunRecord& run) {
  if (const std::string node = variable("SLURMD_NODENAME"); !node.empty()) run.node = node;
  for (const auto& [name, key] : {std::pair{"SLURM_ARRAY_JOB_ID", "array_job_id"},
                                  {"SLURM_ARRAY_TASK_ID", "array_task_id"},
                                  {"SLURM_JOB_PARTITION", "partition"},
                                  {"SLURM_JOB_NODELIST", "node_list"},
                                  {"SLURM_CPUS_ON_NODE", "cpus_on_node"}})
    if (!variable(name).empty() && record::find_fact(run.provenance, "slurm", key) == nullptr)
      run.provenance.push_back({"slurm", key, record::to_value(variable(name))});
  if (auto warning = cores_warning(job, static_cast<int>(to_number(variable("SLURM_CPUS_ON_NODE")))))
    run.warnings.push_back(std::move(*warning));
}

volatile std::sig_atomic_t ended_by_slurm = 0;

// A run with clean-up commands or pinned clocks outlives the signal by what it owes: until Slurm's KillWait
// is over.
void note_the_end(int) { ended_by_slurm = 1; }

}  // namespace

int run_task(const Folder& folder, const std::string& submission, int task) {
  // Slurm sends SIGTERM to every process of a job that it ends. It must end this one, too: a record written
  // now would say that the run crashed.
  std::signal(SIGTERM, SIG_DFL);
  Submission of_task;
  of_task.folder = folder.slurm() / submission;
  const Job job = read_job(of_task, task);
  if (!job.cleanup.empty() || job.pin_clocks) std::signal(SIGTERM, note_the_end);
  make_folders(folder.logs());
  make_folders(folder.records());
  const auto run = supervise(
      job, folder, [] { return ended_by_slurm != 0; },
      [&](record::RunRecord& record) {
        std::signal(SIGTERM, SIG_DFL);
        if (ended_by_slurm != 0) std::raise(SIGTERM);
        // The signal came to the child first, which then ended by it or kept what it had: ours is on its way.
        if (record.exit_code == 128 + SIGTERM || record.status == record::Status::interrupted)
          std::this_thread::sleep_for(std::chrono::seconds(2));
        add_slurm_facts(job, record);
      });
  if (run.status == record::Status::ok) return 0;
  return run.exit_code == 0 ? 1 : run.exit_code;
}

std::optional<record::Warning> cores_warning(const Job& job, int cpus_on_node) {
  const int asked = job.resources.cpus_per_task * job.resources.tasks_per_node;
  if (asked == 0 || cpus_on_node <= asked) return std::nullopt;
  return record::Warning{
      "cores",
      fmt::format("asked for {} CPUs on a node, was given {}: nothing but its own threads limits the run",
                  asked, cpus_on_node)};
}

}  // namespace trainyard::study::slurm
