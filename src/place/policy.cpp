#include "place/policy.h"

#include "base/text.h"

namespace trainyard::place {

namespace {

Policy on_arrival(const char* name, const char* description, Order order,
                  Choice (*choose)(const ScheduleState&, const Job&), bool checks_memory = true) {
  return {name, description, choose, order, checks_memory};
}

Policy at_events(const char* name, const char* description,
                 std::unique_ptr<Scheduler> (*schedule)(const Problem&), bool stops = false) {
  return {name, description, nullptr, Order::arrival, true, schedule, stops};
}

template <Turn turn>
std::unique_ptr<Scheduler> in_turn(const Problem& problem) {
  return make_list_scheduler(problem, turn);
}

template <Goal goal, bool stops = false>
std::unique_ptr<Scheduler> by_plan(const Problem& problem) {
  return make_plan_scheduler(problem, goal, stops);
}

}  // namespace

const std::vector<Policy>& all_policies() {
  static const std::vector<Policy> policies = {
      at_events("least-jct", "planned for the least mean JCT, anew when jobs arrive",
                by_plan<Goal::completion>),
      at_events("srpt", "likewise, and jobs that run are stopped for shorter ones",
                by_plan<Goal::completion, true>, true),
      at_events("least-makespan", "planned so that the last job ends first, anew when jobs arrive",
                by_plan<Goal::makespan>),
      at_events("fair", "the user who got least first, on a device that is free",
                in_turn<Turn::least_served>),
      at_events("fifo", "as they come, on the device that is free first", in_turn<Turn::arrival>),
      at_events("sjf", "the shortest that waits, on the device that is free first", in_turn<Turn::shortest>),
      on_arrival("earliest-finish", "placed on arrival, where each ends first", Order::arrival,
                 choose_earliest_finish),
      on_arrival("earliest-finish-shortest", "likewise, of those that arrive at once the shortest first",
                 Order::shortest, choose_earliest_finish),
      on_arrival("earliest-finish-longest", "likewise, of those that arrive at once the longest first (LPT)",
                 Order::longest, choose_earliest_finish),
      on_arrival("fastest", "placed on arrival, on the device that runs each fastest", Order::arrival,
                 choose_fastest),
      on_arrival("random", "placed on arrival, on any device that they fit on", Order::arrival,
                 choose_by_chance),
      on_arrival("cheapest", "placed on arrival, where each costs least", Order::arrival, choose_cheapest),
      on_arrival("least-energy", "placed on arrival, where each takes least energy", Order::arrival,
                 choose_least_energy),
      on_arrival("legacy-time", "GPUAlloc's time score with its error: sums run on from device to device",
                 Order::arrival, choose_legacy_time, false),
      on_arrival("legacy-time-fixed", "GPUAlloc's time score as it was meant", Order::arrival,
                 choose_legacy_time_fixed, false),
      on_arrival("legacy-efficiency", "GPUAlloc's efficiency score of measured shares", Order::arrival,
                 choose_legacy_efficiency, false),
      on_arrival("legacy-efficiency-scaled",
                 "the same, of shares over the largest of each device, as GPUAlloc learns", Order::arrival,
                 choose_legacy_efficiency_scaled, false),
  };
  return policies;
}

const Policy& find_policy(std::string_view name) {
  std::vector<std::string> names;
  std::string listed;
  for (const Policy& policy : all_policies()) {
    if (policy.name == name) return policy;
    names.emplace_back(policy.name);
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  fail(ErrorKind::usage, "unknown policy '{}'{}; one of {}", name, did_you_mean(name, names), listed);
}

Choice choose_by_chance(const ScheduleState& state, const Job& job) {
  std::vector<std::size_t> fitting;
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s)
    if (job.options[state.problem.slots[s].kind].fits) fitting.push_back(s);
  const Philox random(state.draw, stream_of("random placement"));
  const std::size_t slot = fitting[random.word(0) % fitting.size()];
  return {slot, fmt::format("at random, one of {} that it fits on", fitting.size())};
}

namespace {

// Among slots of equal cost, takes the one where the job ends first.
std::size_t least_rate(const ScheduleState& state, const Job& job, double predict::DeviceSheet::*rate) {
  double least = 0;
  bool any = false;
  for (const Slot& slot : state.problem.slots) {
    const Option& option = job.options[slot.kind];
    const double cost = option.seconds * state.problem.kinds[slot.kind].*rate;
    if (!option.fits || (any && cost >= least)) continue;
    any = true;
    least = cost;
  }
  return least_slot(state, job, [&](std::size_t s, const Option& option) {
    const double cost = option.seconds * state.problem.kinds[state.problem.slots[s].kind].*rate;
    constexpr double kNever = 1e300;
    return cost <= least ? state.free_seconds[s] + option.seconds : kNever;
  });
}

void want(const ScheduleState& state, double predict::DeviceSheet::*rate, const char* policy,
          const char* key) {
  for (const Slot& slot : state.problem.slots)
    if (!(state.problem.kinds[slot.kind].*rate > 0))
      fail(ErrorKind::config, "policy {}: device '{}' has no {}", policy, state.problem.kinds[slot.kind].name,
           key);
}

}  // namespace

Choice choose_cheapest(const ScheduleState& state, const Job& job) {
  want(state, &predict::DeviceSheet::price_per_hour, "cheapest", "price_per_hour");
  const std::size_t slot = least_rate(state, job, &predict::DeviceSheet::price_per_hour);
  const std::size_t kind = state.problem.slots[slot].kind;
  return {slot, fmt::format("costs least there: {:.2f}",
                            job.options[kind].seconds / 3600 * state.problem.kinds[kind].price_per_hour)};
}

Choice choose_least_energy(const ScheduleState& state, const Job& job) {
  want(state, &predict::DeviceSheet::watts, "least-energy", "watts");
  const std::size_t slot = least_rate(state, job, &predict::DeviceSheet::watts);
  const std::size_t kind = state.problem.slots[slot].kind;
  return {slot, fmt::format("takes least energy there: {:.2f} kWh at {:.0f} W",
                            job.options[kind].seconds / 3.6e6 * state.problem.kinds[kind].watts,
                            state.problem.kinds[kind].watts)};
}

Choice choose_earliest_finish(const ScheduleState& state, const Job& job) {
  const auto finish = [&](std::size_t s, const Option& option) {
    return state.free_seconds[s] + option.seconds;
  };
  const std::size_t slot = least_slot(state, job, finish);
  const std::string runs = format_seconds(job.options[state.problem.slots[slot].kind].seconds);
  const double wait = state.free_seconds[slot] - state.now;
  if (!(wait > 0)) return {slot, fmt::format("ends first: starts now, runs {}", runs)};
  return {slot, fmt::format("ends first: waits {}, runs {}", format_seconds(wait), runs)};
}

// Among equally fast devices, takes the one that is free first.
Choice choose_fastest(const ScheduleState& state, const Job& job) {
  const std::size_t fastest =
      least_slot(state, job, [](std::size_t, const Option& option) { return option.seconds; });
  const std::size_t kind = state.problem.slots[fastest].kind;
  std::size_t slot = fastest;
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s)
    if (state.problem.slots[s].kind == kind && state.free_seconds[s] < state.free_seconds[slot]) slot = s;
  return {slot, fmt::format("runs fastest there: {}", format_seconds(job.options[kind].seconds))};
}

namespace {

// Returns the first slot of a kind that is free: GPUAlloc has one of each.
Choice on_kind(const ScheduleState& state, std::size_t kind, std::string reason) {
  std::size_t best = state.problem.slots.size();
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s)
    if (state.problem.slots[s].kind == kind &&
        (best == state.problem.slots.size() || state.free_seconds[s] < state.free_seconds[best]))
      best = s;
  return {best, std::move(reason)};
}

std::size_t position(const std::vector<double>& scores, std::vector<double>::const_iterator at) {
  return static_cast<std::size_t>(at - scores.begin());
}

Choice with_least(const ScheduleState& state, const std::vector<double>& scores) {
  const std::size_t kind = position(scores, std::min_element(scores.begin(), scores.end()));
  return on_kind(state, kind, fmt::format("least time score {:.4g}", scores[kind]));
}

Choice with_most(const ScheduleState& state, const std::vector<double>& scores) {
  const std::size_t kind = position(scores, std::max_element(scores.begin(), scores.end()));
  return on_kind(state, kind, fmt::format("largest efficiency score {:.4g}", scores[kind]));
}

}  // namespace

Choice choose_legacy_time(const ScheduleState& state, const Job& job) {
  return with_least(state, legacy_times(job));
}

Choice choose_legacy_time_fixed(const ScheduleState& state, const Job& job) {
  return with_least(state, legacy_times_fixed(job));
}

Choice choose_legacy_efficiency(const ScheduleState& state, const Job& job) {
  return with_most(state, legacy_efficiencies(job));
}

Choice choose_legacy_efficiency_scaled(const ScheduleState& state, const Job& job) {
  return with_most(state, LegacyScaling(state.problem).efficiencies(job));
}

namespace {

constexpr int kCopies = 4;  // of the time, one for each resource

void want_use(const Job& job) {
  for (const Option& option : job.options)
    if (option.use.empty())
      fail(ErrorKind::config,
           "job '{}': GPUAlloc's efficiency wants measured shares of bursts and peaks on every device",
           job.name);
}

}  // namespace

std::vector<double> legacy_times(const Job& job) {
  std::vector<double> scores;
  double running = 0;
  for (const Option& option : job.options) scores.push_back(running += kCopies * option.seconds);
  return scores;
}

std::vector<double> legacy_times_fixed(const Job& job) {
  std::vector<double> scores;
  for (const Option& option : job.options) scores.push_back(kCopies * option.seconds);
  return scores;
}

std::vector<double> legacy_efficiencies(const Job& job) {
  want_use(job);
  std::vector<double> scores;
  for (const Option& option : job.options) {
    double sum = 0;
    for (const predict::ResourceUse& use : option.use) sum += use.burst > 0 ? use.peak / use.burst : 0;
    scores.push_back(sum);
  }
  return scores;
}

LegacyScaling::LegacyScaling(const Problem& problem) : largest_(problem.kinds.size()) {
  for (const Job& job : problem.jobs) {
    want_use(job);
    for (std::size_t k = 0; k < job.options.size(); ++k) {
      const auto& use = job.options[k].use;
      if (largest_[k].size() < use.size()) largest_[k].resize(use.size());
      for (std::size_t r = 0; r < use.size(); ++r) {
        largest_[k][r].burst = std::max(largest_[k][r].burst, use[r].burst);
        largest_[k][r].peak = std::max(largest_[k][r].peak, use[r].peak);
      }
    }
  }
}

std::vector<double> LegacyScaling::efficiencies(const Job& job) const {
  std::vector<double> scores;
  for (std::size_t k = 0; k < job.options.size(); ++k) {
    double sum = 0;
    for (std::size_t r = 0; r < job.options[k].use.size(); ++r) {
      const predict::ResourceUse& use = job.options[k].use[r];
      const Largest& largest = largest_[k][r];
      if (largest.burst == 0 || largest.peak == 0 || use.burst == 0) continue;
      sum += use.peak / largest.peak / (use.burst / largest.burst);
    }
    scores.push_back(sum);
  }
  return scores;
}

}  // namespace trainyard::place
