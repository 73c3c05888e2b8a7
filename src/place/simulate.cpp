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

Outcome place_on_arrival(const Problem& problem, const Policy& policy, std::uint64_t seed) {
  const auto several =
      std::find_if(problem.jobs.begin(), problem.jobs.end(), [](const Job& job) { return job.devices > 1; });
  if (several != problem.jobs.end())
    fail(ErrorKind::config, "policy {}: job '{}' takes {} devices; a policy that places on arrival knows one",
         policy.name, several->name, several->devices);
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
    decision.stretches = {{{choice.slot}, decision.start_seconds, decision.end_seconds}};
    outcome.decisions.push_back(std::move(decision));
  }
  return outcome;
}

// EventSimulation asks a scheduler at every time at which jobs arrive or end.
class EventSimulation {
 public:
  EventSimulation(const Problem& problem, Scheduler& scheduler)
      : problem_(problem), scheduler_(scheduler), queue_(problem), work_(problem.jobs.size()) {}

  Outcome run() {
    const std::vector<std::size_t> arrivals = order_of_arrival();
    std::size_t arrived = 0;
    while (arrived < arrivals.size() || !ends_.empty()) {
      double now = ends_.empty() ? std::numeric_limits<double>::infinity() : ends_.begin()->first;
      if (arrived < arrivals.size()) now = std::min(now, problem_.jobs[arrivals[arrived]].arrival_seconds);
      while (!ends_.empty() && ends_.begin()->first <= now) end(ends_.begin()->second, now);
      for (; arrived < arrivals.size() && problem_.jobs[arrivals[arrived]].arrival_seconds <= now; ++arrived)
        queue_.arrive(arrivals[arrived]);
      while (perform(scheduler_.decide(queue_, now), now)) {
      }
    }
    TRAINYARD_CHECK(queue_.waiting().empty());
    return std::move(outcome_);
  }

 private:
  struct Work {
    double done = 0;                      // a share, without that of the stretch that goes on
    std::optional<std::size_t> decision;  // its place in the outcome
  };

  std::vector<std::size_t> order_of_arrival() {
    std::vector<std::size_t> order;
    for (std::size_t job = 0; job < problem_.jobs.size(); ++job)
      if (shortest_seconds(problem_, problem_.jobs[job]) < std::numeric_limits<double>::infinity())
        order.push_back(job);
      else
        outcome_.unplaced.push_back(job);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return problem_.jobs[a].arrival_seconds < problem_.jobs[b].arrival_seconds;
    });
    return order;
  }

  bool perform(const Decision& decision, double now) {
    for (const std::size_t job : decision.stops) stop(job, now);
    for (const Start& one : decision.starts) start(one, now);
    return !decision.stops.empty() || !decision.starts.empty();
  }

  const Option& option_of(std::size_t job) const {
    return problem_.jobs[job].options[problem_.slots[queue_.slots_of(job).front()].kind];
  }

  void start(const Start& one, double now) {
    const bool again = queue_.was_stopped(one.job);
    queue_.start(one.job, one.slots, now);
    const Option& option = option_of(one.job);
    Work& work = work_[one.job];
    if (!work.decision) {
      work.decision = outcome_.decisions.size();
      outcome_.decisions.push_back({.job = one.job, .start_seconds = now});
    }
    Placement& decision = outcome_.decisions[*work.decision];
    decision.slot = one.slots.front();
    decision.reason = one.reason;
    decision.expected_end_seconds = queue_.expected_end(one.job, now);
    decision.out_of_memory = !option.truly_fits;
    decision.end_seconds =
        now + (1 - work.done) * option.true_seconds + (again ? problem_.preemption_seconds : 0);
    decision.stretches.push_back({one.slots, now, decision.end_seconds});
    ends_.emplace(decision.end_seconds, one.job);
  }

  void stop(std::size_t job, double now) {
    Work& work = work_[job];
    Placement& decision = outcome_.decisions[*work.decision];
    Stretch& stretch = decision.stretches.back();
    const double lost = queue_.was_stopped(job) ? problem_.preemption_seconds : 0;
    const double worked = std::max(0.0, now - stretch.start_seconds - lost);
    const double whole = option_of(job).true_seconds;
    work.done = whole > 0 ? std::min(1.0, work.done + worked / whole) : 1;
    ends_.erase({decision.end_seconds, job});
    stretch.end_seconds = now;
    ++outcome_.stops;
    queue_.stop(job, now, work.done);
  }

  void end(std::size_t job, double now) {
    ends_.erase(ends_.begin());
    queue_.end(job, now);
  }

  const Problem& problem_;
  Scheduler& scheduler_;
  LiveQueue queue_;
  std::vector<Work> work_;
  std::set<std::pair<double, std::size_t>> ends_;  // of jobs that run
  Outcome outcome_;
};

}  // namespace

Outcome simulate(const Problem& problem, const Policy& policy, std::uint64_t seed) {
  Outcome outcome;
  if (policy.schedule != nullptr)
    outcome = EventSimulation(problem, *policy.schedule(problem)).run();
  else
    outcome = place_on_arrival(problem, policy, seed);
  summarise(problem, policy, outcome);
  return outcome;
}

}  // namespace trainyard::place
