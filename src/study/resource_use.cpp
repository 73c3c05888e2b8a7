#include "study/resource_use.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trainyard::study {
namespace {

// The driver counts over periods of up to a second; in fewer looks it may have seen none of the work.
constexpr int kFewestLooks = 8;

std::string hosts_in(const record::RunRecord& run) {
  const auto found = run.details.find("hosts");
  if (found == run.details.end()) return run.node;
  std::vector<std::string> names;
  for (const auto& host : nlohmann::json::parse(found->second, nullptr, false))
    if (host.is_object()) names.push_back(host.value("name", ""));
  return fmt::format("{}", fmt::join(names, ", "));
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

// Only where the study names CPUs: else they are as many as threads.
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
                                              busy, fmt::join(idle, ", "))});
}

}  // namespace trainyard::study
