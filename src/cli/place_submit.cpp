#include "cli/place_submit.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>

#include <fmt/core.h>

#include "base/file.h"
#include "cli/study_results.h"
#include "ops/update.h"
#include "predict/network_name.h"
#include "study/folder.h"
#include "study/local_launcher.h"
#include "study/slurm/launcher.h"
#include "train/stop_request.h"

namespace trainyard::cli {
namespace {

// Names of files are made of it.
std::string plain_id(const std::string& name) {
  std::string id = name;
  for (char& c : id)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  return id;
}

study::Job job_of(const place::JobRequest& request, const place::Slot& slot, const std::string& cell) {
  const predict::TableRun& run = request.run;
  const auto steps = std::max<std::int64_t>(
      1, std::llround(run.epochs * run.images_per_epoch / static_cast<double>(run.batch)));
  study::Job job;
  job.cell = cell;
  job.run_id = cell + "-r1-a1";
  job.study = "placement";
  job.kind = "train";
  job.settings = {{"network", predict::named_network(run.network).network},
                  {"batch", run.batch},
                  {"optimizer", std::string(ops::name(run.optimizer))},
                  {"steps", steps},
                  {"device", slot.run_device}};
  if (run.classes > 0) job.settings["classes"] = static_cast<std::int64_t>(run.classes);
  job.command = {own_program().string(), "train", "--quiet", "--no-eval"};
  for (const auto& [name, value] : job.settings)
    job.command.push_back(fmt::format("--{}={}", name, record::to_text(value)));
  job.command.emplace_back("--record={record}");
  job.settings["slot"] = slot.name;
  job.resources.partition = slot.partition;
  job.resources.gpu_type = slot.gpu_type;
  job.resources.constraint = slot.constraint;
  job.resources.gpus_per_node = slot.run_device.starts_with("cuda") || !slot.gpu_type.empty() ? 1 : 0;
  return job;
}

std::unique_ptr<study::Launcher> launcher_of(const SubmitPlacement& options, const study::Folder& folder) {
  if (options.launcher == "local") return std::make_unique<study::LocalLauncher>(folder);
  study::slurm::LauncherOptions slurm;
  slurm.submit = {own_program(), std::filesystem::current_path(), 0};
  slurm.say = [](const std::string& remark) { fmt::print(stderr, "trainyard: {}\n", remark); };
  return std::make_unique<study::slurm::SlurmLauncher>(folder, slurm);
}

}  // namespace

std::vector<record::RunRecord> submit_placement(const place::Problem& problem,
                                                const std::vector<place::JobRequest>& requests,
                                                const place::Outcome& outcome,
                                                const SubmitPlacement& options) {
  const study::Folder folder{options.out};
  std::vector<place::Decision> decisions = outcome.decisions;
  std::stable_sort(
      decisions.begin(), decisions.end(),
      [](const place::Decision& a, const place::Decision& b) { return a.start_seconds < b.start_seconds; });
  std::vector<study::Job> jobs;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::string cell = fmt::format("{:03}-{}", i + 1, plain_id(requests[decisions[i].job].name));
    jobs.push_back(job_of(requests[decisions[i].job], problem.slots[decisions[i].slot], cell));
  }
  for (const std::filesystem::path& path : {folder.path, folder.records(), folder.logs()}) make_folders(path);
  const train::StopRequest guard;
  std::vector<record::RunRecord> ended;
  launcher_of(options, folder)
      ->run(
          jobs, [&](const record::RunRecord& run) { ended.push_back(run); },
          [] { return train::StopRequest::asked(); });
  return ended;
}

}  // namespace trainyard::cli
