#include <limits>

#include "base/text.h"
#include "place/plan.h"
#include "place/scheduler.h"

namespace trainyard::place {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// So many jobs are assigned exactly when they come at once; later so many jobs x jobs x slots.
constexpr std::size_t kMostAtOnce = 500, kMostCells = 100'000, kMostAnew = 100'000;

class PlanScheduler : public Scheduler {
 public:
  PlanScheduler(const Problem& problem, Goal goal, bool stops)
      : problem_(problem),
        goal_(goal),
        stops_(stops),
        plan_(problem.slots.size()),
        planned_(problem.jobs.size(), 0) {}

  Decision decide(const LiveQueue& queue, double now) override {
    const std::vector<std::size_t> fresh = newcomers(queue);
    if (!queue.waiting().empty() && (!fresh.empty() || is_quick(queue))) plan(queue, now, fresh);
    for (const std::size_t job : queue.waiting()) planned_[job] = 1;
    Decision decision;
    if (stops_ && !fresh.empty()) stop_for(queue, now, fresh, decision);
    for (std::size_t slot = 0; slot < plan_.size(); ++slot) {
      if (!queue.is_free(slot) || plan_[slot].empty()) continue;
      const std::size_t behind = plan_[slot].size() - 1;
      decision.starts.push_back(
          {plan_[slot].front(),
           {slot},
           fmt::format("so planned for {}; {} {} here", goal_ == Goal::completion ? "mean JCT" : "makespan",
                       behind, behind == 1 ? "more is to follow" : "more are to follow")});
      plan_[slot].erase(plan_[slot].begin());
    }
    for (const Start& one : decision.starts) planned_[one.job] = 0;
    return decision;
  }

 private:
  // Returns those who wait and are not in the plan.
  std::vector<std::size_t> newcomers(const LiveQueue& queue) const {
    std::vector<std::size_t> fresh;
    for (const std::size_t job : queue.waiting())
      if (planned_[job] == 0) fresh.push_back(job);
    return fresh;
  }

  bool is_quick(const LiveQueue& queue) const {
    const std::size_t jobs = queue.waiting().size();
    return jobs * jobs * problem_.slots.size() <= kMostAnew;
  }

  // Jobs are those that wait, by their place in `waiting`.
  PlanInput input_of(const LiveQueue& queue, double now) const {
    PlanInput input{.jobs = queue.waiting().size(), .free_seconds = {}, .kinds = {}};
    for (std::size_t slot = 0; slot < problem_.slots.size(); ++slot) {
      input.free_seconds.push_back(queue.expected_free(slot, now) - now);
      input.kinds.push_back(problem_.slots[slot].kind);
    }
    return input;
  }

  void plan(const LiveQueue& queue, double now, const std::vector<std::size_t>& fresh) {
    const std::vector<std::size_t>& waiting = queue.waiting();
    const std::size_t jobs = waiting.size(), slots = problem_.slots.size();
    PlanInput input = input_of(queue, now);
    const auto anew = [&](const auto& method) {
      input.seconds = [&](std::size_t job, std::size_t slot) {
        return queue.seconds_left(waiting[job], problem_.slots[slot].kind);
      };
      plan_ = method(input);
      for (std::vector<std::size_t>& planned : plan_)
        for (std::size_t& job : planned) job = waiting[job];
    };
    const bool all_are_fresh = fresh.size() == jobs;
    if (goal_ == Goal::makespan && (all_are_fresh || is_quick(queue))) return anew(search_least_makespan);
    if (is_quick(queue) || (all_are_fresh && jobs <= kMostAtOnce && jobs * slots <= kMostCells))
      return anew(assign_least_completion);
    if (all_are_fresh) return anew(search_least_completion);
    // Those that were planned before stay where they are.
    input.seconds = [&](std::size_t job, std::size_t slot) {
      return queue.seconds_left(job, problem_.slots[slot].kind);
    };
    for (const std::size_t job : fresh)
      goal_ == Goal::completion ? insert_for_completion(input, plan_, job)
                                : insert_for_makespan(input, plan_, job);
  }

  // Stops what runs for a job that has just come, where that one gains more than the other loses.
  void stop_for(const LiveQueue& queue, double now, const std::vector<std::size_t>& fresh,
                Decision& decision) {
    const PlanInput input = input_of(queue, now);
    std::set<std::size_t> stopped;  // slots
    for (const std::size_t job : fresh) {
      if (queue.was_stopped(job)) continue;
      const double wait = planned_wait(queue, input, job);
      std::optional<std::size_t> best;
      double most = 0;
      for (std::size_t slot = 0; slot < plan_.size(); ++slot) {
        if (queue.is_free(slot) || stopped.contains(slot)) continue;
        const double seconds = queue.seconds_left(job, problem_.slots[slot].kind);
        const double loss = seconds + problem_.preemption_seconds;
        if (!(loss < input.free_seconds[slot])) continue;
        const double gain = wait - seconds - loss;
        if (gain <= most) continue;
        most = gain;
        best = slot;
      }
      if (!best) continue;
      stopped.insert(*best);
      decision.stops.push_back(*queue.occupant(*best));
      for (std::vector<std::size_t>& jobs : plan_) std::erase(jobs, job);
      decision.starts.push_back(
          {job,
           {*best},
           fmt::format("{} waits for it: it gains {}", problem_.jobs[decision.stops.back()].name,
                       format_seconds(most))});
    }
  }

  // How long a job would be here by the plan.
  double planned_wait(const LiveQueue& queue, const PlanInput& input, std::size_t job) const {
    for (std::size_t slot = 0; slot < plan_.size(); ++slot) {
      if (std::find(plan_[slot].begin(), plan_[slot].end(), job) == plan_[slot].end()) continue;
      double end = input.free_seconds[slot];
      for (const std::size_t one : plan_[slot]) {
        end += queue.seconds_left(one, problem_.slots[slot].kind);
        if (one == job) return end;
      }
    }
    return kNever;
  }

  const Problem& problem_;
  Goal goal_;
  bool stops_;
  Plan plan_;                  // of those who wait
  std::vector<char> planned_;  // is each job in it
};

class FixedScheduler : public Scheduler {
 public:
  explicit FixedScheduler(Plan plan) : plan_(std::move(plan)) {}

  Decision decide(const LiveQueue& queue, double /*now*/) override {
    const std::set<std::size_t> waiting(queue.waiting().begin(), queue.waiting().end());
    Decision decision;
    for (std::size_t slot = 0; slot < plan_.size(); ++slot) {
      if (!queue.is_free(slot)) continue;
      const auto next = std::find_if(plan_[slot].begin(), plan_[slot].end(),
                                     [&](std::size_t job) { return waiting.contains(job); });
      if (next != plan_[slot].end()) decision.starts.push_back({*next, {slot}, "as it was placed"});
    }
    return decision;
  }

 private:
  Plan plan_;
};

}  // namespace

std::unique_ptr<Scheduler> make_fixed_scheduler(Plan plan) {
  return std::make_unique<FixedScheduler>(std::move(plan));
}

std::unique_ptr<Scheduler> make_plan_scheduler(const Problem& problem, Goal goal, bool stops) {
  const auto several =
      std::find_if(problem.jobs.begin(), problem.jobs.end(), [](const Job& job) { return job.devices > 1; });
  if (several == problem.jobs.end()) return std::make_unique<PlanScheduler>(problem, goal, stops);
  if (stops)
    fail(ErrorKind::config, "policy srpt: job '{}' takes {} devices; only jobs of one device are stopped",
         several->name, several->devices);
  return make_list_scheduler(problem, goal == Goal::completion ? Turn::smallest : Turn::largest);
}

}  // namespace trainyard::place
