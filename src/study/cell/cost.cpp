#include "study/cell/cost.h"

#include "base/cores.h"
#include "base/text.h"
#include "study/cell/settings.h"
#include "study/spec/file_networks.h"

namespace trainyard::study {

namespace {

constexpr double kHourSeconds = 3600;

struct MeasuredCell {
  double seconds = 0;
  int runs = 0;
};

std::map<std::string, MeasuredCell> measured_cells(const std::vector<record::RunRecord>& runs) {
  std::map<std::string, MeasuredCell> cells;
  for (const record::RunRecord& run : runs) {
    if (run.status != record::Status::ok || !(run.wall_seconds > 0)) continue;
    cells[run.cell].seconds += run.wall_seconds;
    ++cells[run.cell].runs;
  }
  return cells;
}

// A time limit ends a run before its last step.
double longest_seconds(const Spec& spec, const record::Settings& settings, const predict::Prediction& made) {
  double longest = spec.time_limit_seconds > 0 ? spec.time_limit_seconds : made.high_seconds;
  if (const double timed = setting_number(settings, "max_seconds", 0); timed > 0)
    longest = std::min(longest,
                       made.start_seconds + warmup_steps_of(spec.run, settings) * made.step_seconds + timed);
  return longest;
}

Estimate predict_cell(const Spec& spec, const record::Settings& settings, const CostModel& model) {
  if (std::string reason = why_not_predicted(spec.run, settings); !reason.empty())
    return {.reason = std::move(reason)};
  try {
    const predict::Prediction made =
        model.predictor->predict(describe_cell(spec.run, with_network_path(spec, settings), model.device));
    const double longest = std::max(longest_seconds(spec, settings, made), 0.0);
    Estimate estimate{.by = EstimatedBy::predicted, .seconds = std::min(made.seconds, longest)};
    if (made.high_seconds > made.low_seconds) {
      estimate.low_seconds = std::min(made.low_seconds, longest);
      estimate.high_seconds = std::min(made.high_seconds, longest);
    }
    return estimate;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return {.reason = error.what()};
  }
}

// Cells that nothing else is known of take as long as the others on average. A model alone does not decide
// that: what it cannot predict is unlike what it can.
void fill_in_similar(Estimates& estimates) {
  double seconds = 0;
  int known = 0, measured = 0;
  for (const auto& [cell, estimate] : estimates) {
    seconds += estimate.seconds;
    known += estimate.known() ? 1 : 0;
    measured += estimate.by == EstimatedBy::measured ? 1 : 0;
  }
  if (measured == 0) return;
  for (auto& [cell, estimate] : estimates)
    if (!estimate.known()) estimate = {.by = EstimatedBy::similar, .seconds = seconds / known};
}

// Slurm gives a task one core where a job does not ask; here a run takes what there is.
double cores_of(const Job& job, Where where) {
  const Resources& asked = job.resources;
  if (asked.cpus_per_task == 0 && where == Where::this_machine)
    return static_cast<double>(process_cores().size());
  return static_cast<double>(std::max(asked.cpus_per_task, 1)) * asked.tasks_per_node * asked.nodes;
}

void add_run(RunsCost& cost, const Estimate& estimate, const Job& job, Where where) {
  const double hours = estimate.seconds / kHourSeconds;
  cost.seconds += estimate.seconds;
  cost.core_hours += hours * cores_of(job, where);
  cost.gpu_hours += hours * job.resources.gpus_per_node * job.resources.nodes;
  if (job.settings.contains("nodes"))
    cost.node_hours = cost.node_hours.value_or(0) + hours * job.resources.nodes;
  switch (estimate.by) {
    case EstimatedBy::measured:
      ++cost.measured;
      break;
    case EstimatedBy::predicted:
      ++cost.predicted;
      break;
    case EstimatedBy::similar:
      ++cost.similar;
      break;
    case EstimatedBy::nothing:
      ++cost.unknown;
      if (!estimate.reason.empty()) ++cost.reasons[estimate.reason];
  }
}

// Returns the runs that are done, by cell and replicate.
std::set<std::pair<std::string, int>> done_runs(const Spec& spec, const Folder& folder) {
  std::set<std::pair<std::string, int>> done;
  if (!std::filesystem::exists(folder.store())) return done;
  const StudyProgress progress = progress_of(folder, expected_build(spec));
  for (const RunState& state : progress.states)
    if (state.done()) done.emplace(state.planned.cell, state.planned.replicate);
  for (const record::RunRecord& run : progress.unplanned) done.emplace(run.cell, run.replicate);
  return done;
}

}  // namespace

const char* name(EstimatedBy by) {
  constexpr const char* kNames[] = {"nothing", "measured", "predicted", "similar"};
  return kNames[static_cast<int>(by)];
}

Estimates estimate_cells(const Spec& spec, const Plan& plan, const std::vector<record::RunRecord>& earlier,
                         const CostModel* model) {
  const std::map<std::string, MeasuredCell> measured = measured_cells(earlier);
  Estimates estimates;
  for (const Cell& cell : plan.cells) {
    if (!cell.refused.empty()) continue;
    Estimate& estimate = estimates[cell.hash];
    if (const auto found = measured.find(cell.hash); found != measured.end())
      estimate = {.by = EstimatedBy::measured, .seconds = found->second.seconds / found->second.runs};
    else if (model != nullptr)
      estimate = predict_cell(spec, cell.settings, *model);
  }
  fill_in_similar(estimates);
  return estimates;
}

Estimates estimate_cells(const Spec& spec, const Plan& plan, const Folder& folder, const CostModel* model) {
  std::vector<record::RunRecord> earlier;
  if (std::filesystem::exists(folder.store())) earlier = runs_of(folder);
  return estimate_cells(spec, plan, earlier, model);
}

std::string RunsCost::sources() const {
  std::vector<std::string> parts;
  for (const auto& [runs, by] :
       {std::pair(measured, EstimatedBy::measured), std::pair(predicted, EstimatedBy::predicted),
        std::pair(similar, EstimatedBy::similar)})
    if (runs > 0) parts.push_back(fmt::format("{} {}", runs, name(by)));
  return joined(parts, ", ");
}

RunsCost cost_of_runs(const Estimates& estimates, std::span<const Job> jobs, Where where) {
  RunsCost cost;
  double low = 0, high = 0;
  bool intervals = false;
  for (const Job& job : jobs) {
    const auto found = estimates.find(job.cell);
    if (found == estimates.end()) continue;
    const Estimate& estimate = found->second;
    add_run(cost, estimate, job, where);
    low += estimate.low_seconds.value_or(estimate.seconds);
    high += estimate.high_seconds.value_or(estimate.seconds);
    intervals = intervals || estimate.low_seconds;
  }
  if (intervals) {
    cost.low_seconds = low;
    cost.high_seconds = high;
  }
  return cost;
}

StudyCost cost_of(const Spec& spec, const Plan& plan, const Folder& folder, const Estimates& estimates,
                  Where where) {
  StudyCost cost;
  const std::set<std::pair<std::string, int>> done = done_runs(spec, folder);
  std::vector<Job> left;
  for (const store::PlannedRun& run : plan.runs) {
    const double steps = setting_number(run.settings, "steps", 0);
    const bool weak = setting_text(run.settings, "scaling") == "weak";
    cost.steps += steps;
    cost.images += steps * setting_number(run.settings, "batch", 0) *
                   (weak ? setting_number(run.settings, "devices", 1) : 1);
    if (done.contains({run.cell, run.replicate}))
      ++cost.done;
    else if (estimates.contains(run.cell))
      left.push_back(make_job(spec, run, 1, "trainyard"));
  }
  cost.at_most_seconds = spec.time_limit_seconds * static_cast<double>(plan.runs.size());
  cost.left = cost_of_runs(estimates, left, where);
  return cost;
}

TimeLeft::TimeLeft(const Estimates& estimates, std::span<const Job> jobs) {
  std::int64_t known = 0;
  double seconds = 0;
  for (const Job& job : jobs)
    if (const auto found = estimates.find(job.cell); found != estimates.end() && found->second.known()) {
      known_seconds_[job.cell] = found->second.seconds;
      seconds += found->second.seconds;
      ++known;
    }
  if (known == 0) return;
  mean_seconds_ = seconds / static_cast<double>(known);
  total_seconds_ = mean_seconds_ * static_cast<double>(jobs.size());
}

double TimeLeft::seconds_of(const std::string& cell) const {
  const auto found = known_seconds_.find(cell);
  return found == known_seconds_.end() ? mean_seconds_ : found->second;
}

void TimeLeft::finished(const record::RunRecord& run) {
  const double seconds = seconds_of(run.cell);
  done_seconds_ += seconds;
  // A run that failed ended early, which says nothing of the others.
  if (run.status != record::Status::ok || !known_seconds_.contains(run.cell)) return;
  actual_seconds_ += run.wall_seconds;
  estimated_seconds_ += seconds;
}

double TimeLeft::share() const { return std::min(done_seconds_ / total_seconds_, 1.0); }

double TimeLeft::seconds() const {
  const double off = estimated_seconds_ > 0 ? actual_seconds_ / estimated_seconds_ : 1;
  return std::max(total_seconds_ - done_seconds_, 0.0) * off;
}

}  // namespace trainyard::study
