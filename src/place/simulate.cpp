#include "place/simulate.h"

namespace trainyard::place {
namespace {

// SlotQueue holds the jobs that run and wait on a slot. Ends that have not come yet are expected ones.
class SlotQueue {
 public:
  double expected_free(double now) const {
    double end = now;
    for (const Item& item : items_) {
      if (item.end <= now) continue;
      const double begin = std::max(std::max(item.arrival, end), item.start <= now ? item.start : 0.0);
      const double started = item.start <= now ? item.start : begin;
      end = std::max(now, started + item.expected);
    }
    return end;
  }
  // Adds a job as it turns out; returns its start.
  double add(double arrival, double expected, double really) {
    const double start = std::max(arrival, items_.empty() ? 0.0 : items_.back().end);
    // Jobs that are over by then are not needed any more.
    items_.erase(items_.begin(), std::find_if(items_.begin(), items_.end(),
                                              [&](const Item& item) { return item.end > arrival; }));
    items_.push_back({arrival, expected, start, start + really});
    return start;
  }

 private:
  struct Item {
    double arrival, expected, start, end;
  };
  std::vector<Item> items_;
};

// Jobs in the order they are placed: by arrival, and of those that arrive together as the policy says.
std::vector<std::size_t> placing_order(const Problem& problem, const Policy& policy) {
  std::vector<std::size_t> order(problem.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> lengths;
  for (const Job& job : problem.jobs) {
    const double length = shortest_seconds(problem, job);
    lengths.push_back(policy.order == Order::arrival    ? 0
                      : policy.order == Order::shortest ? length
                                                        : -length);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double first = problem.jobs[a].arrival_seconds, second = problem.jobs[b].arrival_seconds;
    return first != second ? first < second : lengths[a] < lengths[b];
  });
  return order;
}

void summarise(const Problem& problem, Outcome& outcome) {
  double busy = 0, completion = 0;
  for (const Placement& decision : outcome.decisions) {
    const double ran = decision.end_seconds - decision.start_seconds;
    const predict::DeviceSheet& device = problem.kinds[problem.slots[decision.slot].kind];
    completion += decision.end_seconds - problem.jobs[decision.job].arrival_seconds;
    outcome.makespan_seconds = std::max(outcome.makespan_seconds, decision.end_seconds);
    outcome.energy_joules += ran * device.watts;
    outcome.price += ran / 3600 * device.price_per_hour;
    outcome.out_of_memory += decision.out_of_memory ? 1 : 0;
    busy += ran;
  }
  const auto known = [&](double predict::DeviceSheet::*rate) {
    return std::all_of(problem.slots.begin(), problem.slots.end(),
                       [&](const Slot& slot) { return problem.kinds[slot.kind].*rate > 0; });
  };
  if (!known(&predict::DeviceSheet::watts)) outcome.energy_joules = 0;
  if (!known(&predict::DeviceSheet::price_per_hour)) outcome.price = 0;
  if (outcome.decisions.empty()) return;
  outcome.mean_completion_seconds = completion / static_cast<double>(outcome.decisions.size());
  outcome.utilisation = busy / (outcome.makespan_seconds * static_cast<double>(problem.slots.size()));
}

}  // namespace

Outcome simulate(const Problem& problem, const Policy& policy, std::uint64_t seed) {
  Outcome outcome;
  std::vector<SlotQueue> queues(problem.slots.size());
  for (const std::size_t j : placing_order(problem, policy)) {
    const Job& job = problem.jobs[j];
    ScheduleState state{problem, job.arrival_seconds, {}, mix_streams(seed, j)};
    for (const SlotQueue& queue : queues) state.free_seconds.push_back(queue.expected_free(state.now));
    const bool fits = shortest_seconds(problem, job) < std::numeric_limits<double>::infinity();
    if (policy.checks_memory && !fits) {
      outcome.unplaced.push_back(j);
      continue;
    }
    const Choice choice = policy.choose(state, job);
    const Option& option = job.options[problem.slots[choice.slot].kind];
    Placement decision{j, choice.slot, choice.reason};
    decision.expected_end_seconds = state.free_seconds[choice.slot] + option.seconds;
    decision.start_seconds = queues[choice.slot].add(state.now, option.seconds, option.true_seconds);
    decision.end_seconds = decision.start_seconds + option.true_seconds;
    decision.out_of_memory = !option.truly_fits;
    outcome.decisions.push_back(std::move(decision));
  }
  summarise(problem, outcome);
  return outcome;
}

double makespan_bound_seconds(const Problem& problem) {
  double sum = 0, longest = 0;
  for (const Job& job : problem.jobs) {
    const double shortest = shortest_seconds(problem, job);
    if (!(shortest < std::numeric_limits<double>::infinity())) continue;
    sum += shortest;
    longest = std::max(longest, shortest);
  }
  return std::max(longest, sum / static_cast<double>(std::max<std::size_t>(problem.slots.size(), 1)));
}

}  // namespace trainyard::place
