#include "study/slurm/command.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "process/run_to_end.h"
#include "study/run/supervise.h"
#include "study/slurm/state.h"
#include "study/slurm/submission.h"

namespace trainyard::study::slurm {

namespace {

// A job needs these variables of its submitter to find programs and files; the rest comes with the job file.
constexpr std::array kPassedOn{"PATH",           "HOME",      "USER",   "LOGNAME",
                               "SHELL",          "LANG",      "LC_ALL", "LD_LIBRARY_PATH",
                               "XDG_CACHE_HOME", "SLURM_CONF"};

std::vector<std::string> environment(const std::string& program) {
  std::vector<std::string> all;
  // Ask for times as seconds since 1970, and for whole lists of array tasks. Jobs must not get these
  // variables, because sbatch passes on everything that it sees.
  if (program != "sbatch") all = {"SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"};
  for (const char* name : kPassedOn)
    if (const char* value = std::getenv(name)) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

}  // namespace

std::string CommandResult::reason() const {
  std::istringstream lines(err);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string prefix : {"sbatch: ", "scontrol: ", "scancel: ", "error: "})
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
    if (!line.empty()) text += (text.empty() ? "" : "; ") + line;
  }
  return text.empty() ? fmt::format("exit code {}", exit_code) : text.substr(0, 500);
}

CommandResult run_command(const std::vector<std::string>& arguments, int inherited) {
  // A submission that has begun runs to its end and holds its lock until then, whatever becomes of this
  // process.
  process::CapturedRun run = process::run_captured({.command = arguments,
                                                    .whole_environment = environment(arguments[0]),
                                                    .inherited = inherited,
                                                    .own_group = true,
                                                    .outlives_us = true});
  if (run.start_errno == ENOENT)
    fail(ErrorKind::config, "Slurm launcher: no program '{}' in PATH (Debian: apt install slurm-client)",
         arguments[0]);
  if (run.start_errno != 0)
    fail(ErrorKind::io, "Slurm launcher: '{}' does not start: {}", arguments[0],
         std::strerror(run.start_errno));
  return {run.exit_code, std::move(run.out), std::move(run.err)};
}

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Slurm's own node name is kept, because several nodes may share a host.
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

// A run with clean-up commands or pinned clocks outlives the signal to finish them, until Slurm's KillWait is
// over.
void note_the_end(int) { ended_by_slurm = 1; }

}  // namespace

int run_task(const Folder& folder, const std::string& submission, int task) {
  // Slurm sends SIGTERM to every process of a job that it ends. The signal must end this one, too: a record
  // written now would say that the run crashed.
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
        // The signal reached the child first, which ended by it or kept its results; ours is on its way.
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
