#include <limits>

#include "place/simulate.h"
#include "stats/statistics.h"

namespace trainyard::place {

double Placement::ran_seconds() const {
  double sum = 0;
  for (const Stretch& one : stretches) sum += one.end_seconds - one.start_seconds;
  return sum;
}

double Placement::device_seconds() const {
  double sum = 0;
  for (const Stretch& one : stretches)
    sum += (one.end_seconds - one.start_seconds) * static_cast<double>(one.slots.size());
  return sum;
}

namespace {

double completion_of(const Problem& problem, const Placement& decision) {
  return decision.end_seconds - problem.jobs[decision.job].arrival_seconds;
}

double least_true_seconds(const Job& job) {
  double least = std::numeric_limits<double>::infinity();
  for (const Option& option : job.options)
    if (option.fits) least = std::min(least, option.true_seconds);
  return least;
}

// Jobs of less are no reason to complain (bounded slow-down: Feitelson et al. 1997).
double slowdown_of(const Problem& problem, const Placement& decision) {
  constexpr double kShort = 10;
  const double alone = std::max(kShort, least_true_seconds(problem.jobs[decision.job]));
  return std::max(1.0, completion_of(problem, decision) / alone);
}

void add_completions(const Problem& problem, Outcome& outcome) {
  std::vector<double> completions, slowdowns;
  for (const Placement& decision : outcome.decisions) {
    completions.push_back(completion_of(problem, decision));
    slowdowns.push_back(slowdown_of(problem, decision));
  }
  const stats::Summary summary = stats::summarise(completions);
  outcome.mean_completion_seconds = summary.mean;
  outcome.median_completion_seconds = summary.median;
  outcome.p95_completion_seconds = summary.p95;
  outcome.mean_slowdown = stats::summarise(slowdowns).mean;
}

void add_rates(const Problem& problem, Outcome& outcome) {
  double busy = 0;
  for (const Placement& decision : outcome.decisions) {
    outcome.makespan_seconds = std::max(outcome.makespan_seconds, decision.end_seconds);
    outcome.out_of_memory += decision.out_of_memory ? 1 : 0;
    for (const Stretch& one : decision.stretches) {
      const double ran = (one.end_seconds - one.start_seconds) * static_cast<double>(one.slots.size());
      const predict::DeviceSheet& device = problem.kinds[problem.slots[one.slots.front()].kind];
      outcome.energy_joules += ran * device.watts;
      outcome.price += ran / 3600 * device.price_per_hour;
      busy += ran;
    }
  }
  const auto known = [&](double predict::DeviceSheet::*rate) {
    return std::all_of(problem.slots.begin(), problem.slots.end(),
                       [&](const Slot& slot) { return problem.kinds[slot.kind].*rate > 0; });
  };
  if (!known(&predict::DeviceSheet::watts)) outcome.energy_joules = 0;
  if (!known(&predict::DeviceSheet::price_per_hour)) outcome.price = 0;
  if (outcome.makespan_seconds > 0)
    outcome.utilisation = busy / (outcome.makespan_seconds * static_cast<double>(problem.slots.size()));
}

// The user's jobs on the same devices, as slow as an equal share of them.
double completion_alone(const Problem& problem, const Policy& policy, const std::string& user,
                        std::size_t users) {
  Problem alone = problem;
  std::erase_if(alone.jobs, [&](const Job& job) { return job.user != user; });
  for (Job& job : alone.jobs) {
    job.user.clear();
    for (Option& option : job.options) {
      option.seconds *= static_cast<double>(users);
      option.true_seconds *= static_cast<double>(users);
    }
  }
  return simulate(alone, policy).mean_completion_seconds;
}

void add_users(const Problem& problem, const Policy& policy, Outcome& outcome) {
  std::map<std::string, UserFigures> users;
  for (const Placement& decision : outcome.decisions) {
    const std::string& name = problem.jobs[decision.job].user;
    UserFigures& user = users[name];
    user.user = name;
    ++user.jobs;
    user.mean_completion_seconds += completion_of(problem, decision);
    user.mean_slowdown += slowdown_of(problem, decision);
    user.device_seconds += decision.device_seconds();
  }
  if (users.empty() || (users.size() == 1 && users.begin()->first.empty())) return;
  double sum = 0, squares = 0;
  for (auto& [name, user] : users) {
    user.mean_completion_seconds /= static_cast<double>(user.jobs);
    user.mean_slowdown /= static_cast<double>(user.jobs);
    const double alone = completion_alone(problem, policy, name, users.size());
    user.finish_time_fairness = user.mean_completion_seconds / alone;
    sum += 1 / user.finish_time_fairness;
    squares += 1 / (user.finish_time_fairness * user.finish_time_fairness);
    outcome.users.push_back(user);
  }
  outcome.fairness = sum * sum / (static_cast<double>(users.size()) * squares);
}

}  // namespace

void summarise(const Problem& problem, const Policy& policy, Outcome& outcome) {
  if (outcome.decisions.empty()) return;
  add_completions(problem, outcome);
  add_rates(problem, outcome);
  add_users(problem, policy, outcome);
}

}  // namespace trainyard::place
