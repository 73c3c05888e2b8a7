#include "study/slurm/cluster.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "study/run/supervise.h"
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

namespace {

constexpr const char* kForgotten = "Invalid job id specified";

// "MaxArraySize            = 1001"
std::string setting(std::string_view config, std::string_view key) {
  for (const std::string_view line : lines_of(config)) {
    const std::size_t equals = line.find(" = ");
    if (!line.starts_with(key) || equals == std::string_view::npos) continue;
    if (line.substr(key.size(), equals - key.size()).find_first_not_of(' ') != std::string_view::npos)
      continue;
    return std::string(line.substr(equals + 3));
  }
  return {};
}

// Returns the lines of the file that hold the words.
std::string lines_with(const std::filesystem::path& file, const std::vector<std::string>& words) {
  std::ifstream stream(file);
  std::string found;
  for (std::string line; std::getline(stream, line);)
    if (std::any_of(words.begin(), words.end(),
                    [&](const std::string& word) { return line.find(word) != std::string::npos; }))
      found += line + '\n';
  return found;
}

std::string sacct(const std::string& which) {
  return run_command({"sacct", "--allocations", "--noheader", "--parsable2", "--starttime=1970-01-01", which,
                      fmt::format("--format={}", kSacctFormat)})
      .out;
}

}  // namespace

Cluster::Cluster() {
  const CommandResult config = run_command({"scontrol", "show", "config"});
  if (config.exit_code != 0) fail(ErrorKind::peer, "Slurm's controller does not answer: {}", config.reason());
  max_array_tasks_ = std::max(1, static_cast<int>(to_number(setting(config.out, "MaxArraySize"))) - 1);
  const std::filesystem::path file = setting(config.out, "JobCompLoc");
  if (setting(config.out, "JobCompType") == "jobcomp/filetxt" && ::access(file.c_str(), R_OK) == 0)
    completed_jobs_ = file;
  accounting_ = setting(config.out, "AccountingStorageType") == "accounting_storage/slurmdbd";
}

std::optional<std::map<int, TaskState>> Cluster::states(std::int64_t job_id,
                                                        std::span<const int> tasks) const {
  std::map<int, TaskState> known;
  std::optional<TaskState> of_the_rest;  // tasks that never started share one entry, which may not name them
  const auto add = [&](const std::vector<TaskState>& states) {
    for (const TaskState& state : states) {
      if (state.job_id != job_id) continue;
      if (state.task >= 0)
        known.emplace(state.task, state);
      else
        of_the_rest = state;
    }
  };
  const auto complete = [&] {
    return std::all_of(tasks.begin(), tasks.end(), [&](int task) { return known.contains(task); });
  };
  const CommandResult remembered =
      run_command({"scontrol", "--oneliner", "show", "job", std::to_string(job_id)});
  if (remembered.exit_code != 0 && remembered.err.find(kForgotten) == std::string::npos) return std::nullopt;
  add(parse_scontrol(remembered.out));
  if (!complete() && !completed_jobs_.empty())
    add(parse_jobcomp(lines_with(completed_jobs_, {fmt::format("JobId={} ", job_id)})));
  if (!complete() && accounting_) add(parse_sacct(sacct(fmt::format("--jobs={}", job_id))));
  if (of_the_rest)
    for (const int task : tasks) {
      of_the_rest->task = task;
      known.emplace(task, *of_the_rest);
    }
  return known;
}

std::int64_t Cluster::find_job(const std::string& name) const {
  const CommandResult queue =
      run_command({"squeue", "--noheader", "--all", "--states=all", "--name=" + name, "--format=%F"});
  if (queue.exit_code != 0) fail(ErrorKind::peer, "Slurm's controller does not answer: {}", queue.reason());
  if (const std::int64_t id = to_number(queue.out); id != 0) return id;
  if (!completed_jobs_.empty()) {
    const auto states = parse_jobcomp(lines_with(completed_jobs_, {fmt::format(" Name={} ", name)}));
    if (!states.empty()) return states.front().job_id;
  }
  if (accounting_) {
    const auto states = parse_sacct(sacct("--name=" + name));
    if (!states.empty()) return states.front().job_id;
  }
  return 0;
}

}  // namespace trainyard::study::slurm
