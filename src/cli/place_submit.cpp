#include "cli/place.h"

#include <cctype>

#include "base/error.h"
#include "cli/progress_bar.h"
#include "cli/study.h"
#include "launch/live_placement.h"
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

// Makes the job without the device that it is sent to.
study::Job job_of(const place::JobRequest& request, const std::string& cell, bool goes_on) {
  const predict::TableRun& run = request.run;
  const auto steps = std::max<std::int64_t>(
      1, std::llround(run.epochs * run.images_per_epoch / static_cast<double>(run.batch)));
  study::Job job;
  job.cell = cell;
  job.study = kStudy;
  job.kind = "train";
  job.settings = {{"network", predict::network_of(run).network},
                  {"batch", run.batch},
                  {"optimizer", std::string(ops::name(run.optimizer))},
                  {"steps", steps}};
  if (run.classes > 0) job.settings["classes"] = static_cast<std::int64_t>(run.classes);
  for (const auto& [name, value] : run.parameters) job.settings[name] = record::to_value(value);
  job.command = {process::own_program().string(), "train", "--quiet", "--no-eval"};
  for (const auto& [name, value] : job.settings)
    job.command.push_back(
        fmt::format("{}={}", record::SettingInfo{.name = name}.option(), record::to_text(value)));
  job.command.emplace_back("--record={record}");
  if (goes_on) {
    constexpr double kGrace = 120;  // a step and a checkpoint of a large network
    job.grace_seconds = kGrace;
    for (const std::string& word :
         {fmt::format("--out={{folder}}/runs/{}", cell), std::string("--resume=auto")})
      job.command.push_back(word);
  }
  return job;
}

void add_setting(study::Job& job, const std::string& name, record::Value value) {
  job.settings[name] = std::move(value);
  job.command.push_back(fmt::format("{}={}", record::SettingInfo{.name = name}.option(),
                                    record::to_text(job.settings.at(name))));
}

// The GPUs of several slots are those that the job sees.
void give_devices(study::Job& job, const place::Problem& problem, const std::vector<std::size_t>& slots) {
  DeviceSpec device = problem.slots[slots.front()].run_device;
  std::string names, gpus;
  for (const std::size_t number : slots) {
    const place::Slot& slot = problem.slots[number];
    names += (names.empty() ? "" : "+") + slot.name;
    if (slot.run_device.number) gpus += fmt::format("{}{}", gpus.empty() ? "" : ",", slot.run_device.gpu());
  }
  if (slots.size() > 1) {
    device.number.reset();
    if (!gpus.empty()) job.environment["CUDA_VISIBLE_DEVICES"] = gpus;
    add_setting(job, "devices", static_cast<std::int64_t>(slots.size()));
    add_setting(job, "strategy", std::string("allreduce"));
    add_setting(job, "scaling", std::string("strong"));
  }
  add_setting(job, "device", device.to_string());
  job.settings["slot"] = names;
}

// On a cluster a slot is a lane: its jobs run one after the other.
void give_lane(study::Job& job, const place::Job& placed, const place::Problem& problem, std::size_t number) {
  const place::Slot& slot = problem.slots[number];
  job.lane = std::to_string(number);  // its name need not be the only one
  if (placed.arrival_seconds > 0)
    job.resources.extra = {fmt::format("--begin=now+{}", std::llround(placed.arrival_seconds))};
  job.resources.partition = slot.partition;
  job.resources.gpu_type = slot.gpu_type;
  job.resources.constraint = slot.constraint;
  job.resources.gpus_per_node = slot.run_device.is_gpu() || !slot.gpu_type.empty() ? 1 : 0;
}

// In the order of their starts, where they would go if all came as it is predicted.
struct Submission {
  std::vector<study::Job> jobs;
  std::map<std::string, std::size_t> number_of_cell;  // in the problem
};

Submission submission_of(const std::vector<place::JobRequest>& requests,
                         std::vector<place::Placement> decisions, bool go_on) {
  std::stable_sort(
      decisions.begin(), decisions.end(),
      [](const place::Placement& a, const place::Placement& b) { return a.start_seconds < b.start_seconds; });
  Submission submission;
  for (const place::Placement& decision : decisions) {
    const place::JobRequest& request = requests[decision.job];
    if (predict::is_foreign_graph(request.run.network))
      fail(ErrorKind::config, "job '{}': '{}' can be predicted and not trained", request.name,
           request.run.network);
    const std::string cell = fmt::format("{:03}-{}", submission.jobs.size() + 1, plain_id(request.name));
    submission.jobs.push_back(job_of(request, cell, go_on));
    submission.number_of_cell[cell] = decision.job;
  }
  return submission;
}

// A placement that needs decisions while it runs is refused: no process of ours lives on Slurm to decide.
void refuse_on_slurm(const place::Problem& problem, const place::Policy& policy) {
  if (policy.stops)
    fail(ErrorKind::usage, "--submit slurm: policy {} stops jobs that run; only --submit local can",
         policy.name);
  for (const place::Job& job : problem.jobs)
    if (job.devices > 1)
      fail(ErrorKind::usage, "--submit slurm: job '{}' takes {} devices; only --submit local can start it",
           job.name, job.devices);
}

void send_to_lanes(const place::Problem& problem, const place::Outcome& outcome, Submission& submission) {
  std::map<std::size_t, std::size_t> slot_of;  // by job
  for (const place::Placement& decision : outcome.decisions) slot_of[decision.job] = decision.slot;
  for (study::Job& job : submission.jobs) {
    const std::size_t number = submission.number_of_cell.at(job.cell);
    give_devices(job, problem, {slot_of.at(number)});
    give_lane(job, problem.jobs[number], problem, slot_of.at(number));
  }
}

std::unique_ptr<place::Scheduler> scheduler_of(const place::Problem& problem, const place::Policy& policy,
                                               const place::Outcome& outcome) {
  if (policy.schedule != nullptr) return policy.schedule(problem);
  std::vector<std::vector<std::size_t>> plan(problem.slots.size());
  for (const place::Placement& decision : outcome.decisions) plan[decision.slot].push_back(decision.job);
  return place::make_fixed_scheduler(std::move(plan));
}

std::unique_ptr<study::Launcher> launcher_of(const SubmitPlacement& options, const study::Folder& folder,
                                             const place::Problem& problem, const place::Outcome& outcome,
                                             Submission& submission) {
  if (options.launcher == "local")
    return std::make_unique<launch::LivePlacement>(
        folder, problem, scheduler_of(problem, *options.policy, outcome),
        launch::LiveJobs{submission.number_of_cell,
                         [&problem](study::Job& job, const std::vector<std::size_t>& slots) {
                           give_devices(job, problem, slots);
                         }});
  refuse_on_slurm(problem, *options.policy);
  send_to_lanes(problem, outcome, submission);
  study::slurm::LauncherOptions slurm;
  slurm.submit = {process::own_program(), std::filesystem::current_path(), 0};
  slurm.say = [](const std::string& remark) { fmt::print(stderr, "trainyard: {}\n", remark); };
  return std::make_unique<study::slurm::SlurmLauncher>(folder, slurm);
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
  Submission submission = submission_of(requests, outcome.decisions, options.policy->stops);
  const auto launcher = launcher_of(options, folder, problem, outcome, submission);
  // A placement is one piece of work, whichever build goes on with it: it keeps the name of the first.
  const std::string build = build_of_placement(folder);
  for (study::Job& job : submission.jobs) job.build = build;
  study::ExpectedRuns expected = expected_of(submission.jobs);
  expected.build = build;
  refuse_other_placement(folder, expected.runs);
  const process::StopRequest guard;
  std::unique_ptr<ProgressBar> bar;
  std::int64_t ended = 0;
  const study::Watcher watcher{
      .begins = [&](std::int64_t runs) { bar = std::make_unique<ProgressBar>("place", runs, false); },
      .finished =
          [&](const record::RunRecord& run) {
            // One that waits once more has not ended.
            const bool ended_now = run.status != record::Status::interrupted || process::StopRequest::asked();
            bar->update(ended += ended_now ? 1 : 0, fmt::format("{} {}", name(run.status), run.id));
          },
      .remarks = [](const std::string& remark) { fmt::print(stderr, "trainyard: {}\n", remark); },
      .stop = [] { return process::StopRequest::asked(); }};
  return study::run_expected(folder, expected, {}, *launcher, watcher);
}

}  // namespace trainyard::cli
