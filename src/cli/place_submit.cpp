#include "cli/place.h"

#include <cctype>

#include "base/error.h"
#include "cli/progress_bar.h"
#include "cli/study.h"
#include "meter/provenance.h"
#include "ops/update.h"
#include "predict/runs/graph_work.h"
#include "process/child.h"
#include "process/stop_request.h"
#include "record/build.h"
#include "record/settings.h"
#include "study/run/run_study.h"
#include "study/slurm/launcher.h"

namespace trainyard::cli {
namespace {

constexpr const char* kStudy = "placement";

// Names of files are made of it.
std::string plain_id(const std::string& name) {
  std::string id = name;
  for (char& c : id)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  return id;
}

study::Job job_of(const place::JobRequest& request, const place::Problem& problem, std::size_t slot_number,
                  const std::string& cell) {
  const place::Slot& slot = problem.slots[slot_number];
  const predict::TableRun& run = request.run;
  const auto steps = std::max<std::int64_t>(
      1, std::llround(run.epochs * run.images_per_epoch / static_cast<double>(run.batch)));
  study::Job job;
  job.cell = cell;
  job.study = kStudy;
  job.lane = std::to_string(slot_number);  // its name need not be the only one
  job.kind = "train";
  job.settings = {{"network", predict::network_of(run).network},
                  {"batch", run.batch},
                  {"optimizer", std::string(ops::name(run.optimizer))},
                  {"steps", steps},
                  {"device", slot.run_device.to_string()}};
  if (run.classes > 0) job.settings["classes"] = static_cast<std::int64_t>(run.classes);
  for (const auto& [name, value] : run.parameters) job.settings[name] = record::to_value(value);
  job.command = {process::own_program().string(), "train", "--quiet", "--no-eval"};
  for (const auto& [name, value] : job.settings)
    job.command.push_back(
        fmt::format("{}={}", record::SettingInfo{.name = name}.option(), record::to_text(value)));
  job.command.emplace_back("--record={record}");
  job.settings["slot"] = slot.name;
  job.resources.partition = slot.partition;
  job.resources.gpu_type = slot.gpu_type;
  job.resources.constraint = slot.constraint;
  job.resources.gpus_per_node = slot.run_device.is_gpu() || !slot.gpu_type.empty() ? 1 : 0;
  return job;
}

std::unique_ptr<study::Launcher> launcher_of(const SubmitPlacement& options, const study::Folder& folder) {
  if (options.launcher == "local") return std::make_unique<study::LocalLauncher>(folder);
  study::slurm::LauncherOptions slurm;
  slurm.submit = {process::own_program(), std::filesystem::current_path(), 0};
  slurm.say = [](const std::string& remark) { fmt::print(stderr, "trainyard: {}\n", remark); };
  return std::make_unique<study::slurm::SlurmLauncher>(folder, slurm);
}

// In the order of their starts.
std::vector<study::Job> jobs_of(const place::Problem& problem, const std::vector<place::JobRequest>& requests,
                                std::vector<place::Placement> decisions) {
  std::stable_sort(
      decisions.begin(), decisions.end(),
      [](const place::Placement& a, const place::Placement& b) { return a.start_seconds < b.start_seconds; });
  std::vector<study::Job> jobs;
  for (const place::Placement& decision : decisions) {
    const place::JobRequest& request = requests[decision.job];
    if (predict::is_foreign_graph(request.run.network))
      fail(ErrorKind::config, "job '{}': '{}' can be predicted and not trained", request.name,
           request.run.network);
    const std::string cell = fmt::format("{:03}-{}", jobs.size() + 1, plain_id(request.name));
    jobs.push_back(job_of(request, problem, decision.slot, cell));
  }
  return jobs;
}

// A placement is a study of runs that were chosen one by one.
study::ExpectedRuns expected_of(const std::vector<study::Job>& jobs) {
  study::ExpectedRuns expected{.study = kStudy};
  for (const study::Job& job : jobs)
    expected.runs.push_back({static_cast<std::int64_t>(expected.runs.size()), job.cell, 1, job.settings});
  expected.make_job = [&jobs](const store::PlannedRun& planned, int attempt) {
    study::Job job = jobs.at(static_cast<std::size_t>(planned.position));
    job.attempt = attempt;
    job.run_id = fmt::format("{}-r1-a{}", job.cell, attempt);
    return job;
  };
  return expected;
}

std::string build_of_placement(const study::Folder& folder) {
  if (std::filesystem::exists(folder.store()))
    if (const auto runs = study::runs_of(folder); !runs.empty()) return record::newest_build(runs);
  return meter::build_id();
}

void refuse_other_placement(const study::Folder& folder, const std::vector<store::PlannedRun>& runs) {
  if (!std::filesystem::exists(folder.store())) return;
  const std::vector<store::PlannedRun> earlier =
      store::Store(folder.store(), store::Store::Access::read).planned();
  const auto same = [](const store::PlannedRun& a, const store::PlannedRun& b) {
    return a.cell == b.cell && record::to_json(a.settings) == record::to_json(b.settings);
  };
  if (!earlier.empty() && !std::equal(earlier.begin(), earlier.end(), runs.begin(), runs.end(), same))
    fail(ErrorKind::usage, "--out '{}': holds another placement; only the same one goes on there",
         folder.path.string());
}

}  // namespace

study::StudyProgress submit_placement(const place::Problem& problem,
                                      const std::vector<place::JobRequest>& requests,
                                      const place::Outcome& outcome, const SubmitPlacement& options) {
  const study::Folder folder{options.out};
  std::vector<study::Job> jobs = jobs_of(problem, requests, outcome.decisions);
  // A placement is one piece of work, whichever build goes on with it: it keeps the name of the first.
  const std::string build = build_of_placement(folder);
  for (study::Job& job : jobs) job.build = build;
  study::ExpectedRuns expected = expected_of(jobs);
  expected.build = build;
  refuse_other_placement(folder, expected.runs);
  const process::StopRequest guard;
  std::unique_ptr<ProgressBar> bar;
  std::int64_t ended = 0;
  const study::Watcher watcher{
      .begins = [&](std::int64_t runs) { bar = std::make_unique<ProgressBar>("place", runs, false); },
      .finished =
          [&](const record::RunRecord& run) {
            bar->update(++ended, fmt::format("{} {}", name(run.status), run.id));
          },
      .remarks = [](const std::string& remark) { fmt::print(stderr, "trainyard: {}\n", remark); },
      .stop = [] { return process::StopRequest::asked(); }};
  const auto launcher = launcher_of(options, folder);
  return study::run_expected(folder, expected, {}, *launcher, watcher);
}

}  // namespace trainyard::cli
