#include "study/slurm/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <fmt/core.h>

#include "base/error.h"
#include "study/slurm/command.h"
#include "study/slurm/state.h"

namespace trainyard::study::slurm {
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
