#include "place/bounds.h"

#include <limits>
#include <queue>

#include "place/plan.h"
#include "place/prices.h"

namespace trainyard::place {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostExactJobs = 500, kMostExactCells = 100'000;

struct BoundJob : TimedJob {
  double shortest = 0;  // on any kind
};

std::vector<BoundJob> placeable_jobs(const Problem& problem) {
  std::vector<BoundJob> jobs;
  for (const Job& job : problem.jobs) {
    if (!(shortest_seconds(problem, job) < kNever)) continue;
    BoundJob one{{job.arrival_seconds, static_cast<double>(job.devices), {}}, kNever};
    for (const Option& option : job.options) {
      one.seconds.push_back(option.fits ? option.true_seconds : kNever);
      one.shortest = std::min(one.shortest, one.seconds.back());
    }
    jobs.push_back(std::move(one));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const BoundJob& a, const BoundJob& b) { return a.arrival < b.arrival; });
  return jobs;
}

AreaInput area_of(const Problem& problem, const std::vector<BoundJob>& jobs) {
  AreaInput area{std::vector<double>(problem.kinds.size(), 0.0), {}};
  for (const Slot& slot : problem.slots) ++area.devices[slot.kind];
  for (const BoundJob& job : jobs) {
    area.seconds.push_back(job.seconds);
    for (double& seconds : area.seconds.back()) seconds *= job.devices;
  }
  return area;
}

std::vector<double> costs_of(const AreaInput& area, const AreaPrices& prices) {
  std::vector<double> costs;
  std::size_t kind = 0;
  for (std::size_t job = 0; job < area.seconds.size(); ++job)
    costs.push_back(least_cost(area, prices, job, kind));
  return costs;
}

// What arrives from a time on takes that long from there.
double makespan_bound(const std::vector<BoundJob>& jobs, const std::vector<double>& costs) {
  double bound = 0, later = 0;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    later += costs[i];
    bound = std::max({bound, jobs[i].arrival + later, jobs[i].arrival + jobs[i].shortest});
  }
  return bound;
}

// The cluster as one device on which a job takes what it costs, the cheapest first, also in the middle of
// others: no schedule has a smaller sum of mean busy times (Goemans 1997). A job ends at least half of its
// shortest time after that.
double completion_by_area(const std::vector<BoundJob>& jobs, const std::vector<double>& costs) {
  struct Item {
    double cost, left;
  };
  const auto dearer = [](const Item& a, const Item& b) { return a.cost > b.cost; };
  std::priority_queue<Item, std::vector<Item>, decltype(dearer)> live(dearer);
  double now = 0, total = 0;
  std::size_t next = 0;
  while (next < jobs.size() || !live.empty()) {
    if (live.empty()) now = std::max(now, jobs[next].arrival);
    for (; next < jobs.size() && jobs[next].arrival <= now; ++next) live.push({costs[next], costs[next]});
    Item item = live.top();
    live.pop();
    const double until = next < jobs.size() ? jobs[next].arrival : kNever;
    const double works = std::min(item.left, until - now);
    if (item.cost > 0) total += works / item.cost * (now + works / 2);
    now += works;
    item.left -= works;
    if (item.left > 1e-12 * item.cost) live.push(item);
  }
  for (const BoundJob& job : jobs) total += job.shortest / 2 - job.arrival;
  return total;
}

// Any prices give a bound: tries others around these.
double best_completion_by_area(const std::vector<BoundJob>& jobs, const AreaInput& area, AreaPrices prices) {
  const auto normal = [&](AreaPrices given) {
    double paid = 0;
    for (std::size_t k = 0; k < given.size(); ++k) paid += given[k] * area.devices[k];
    for (double& price : given) price /= paid;
    return given;
  };
  double best = completion_by_area(jobs, costs_of(area, prices));
  for (const double step : {1.2, 1.1, 1.05, 1.02, 1.01})
    for (std::size_t k = 0; k < prices.size() && prices.size() > 1; ++k)
      for (const double factor : {step, 1 / step}) {
        AreaPrices tried = prices;
        tried[k] *= factor;
        tried = normal(tried);
        const double bound = completion_by_area(jobs, costs_of(area, tried));
        if (bound <= best) continue;
        best = bound;
        prices = tried;
      }
  return best;
}

// How many jobs there are in that schedule, beyond those that have a device, is what a second of a device is
// worth: so long they wait.
TimePrices first_prices(const std::vector<BoundJob>& jobs, const AreaInput& area, const AreaPrices& prices) {
  constexpr std::size_t kSpans = 300;
  const std::vector<double> costs = costs_of(area, prices);
  double devices = 0, end = 0, longest = 0;
  for (const double one : area.devices) devices += one;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    end = std::max(end, jobs[i].arrival) + costs[i];
    longest = std::max(longest, jobs[i].shortest);
  }
  TimePrices times{(end + longest) / kSpans, {}};
  std::vector<double> waiting(kSpans, 0.0);
  std::priority_queue<double, std::vector<double>, std::greater<>> live;  // what is left of each
  std::size_t next = 0;
  for (std::size_t span = 0; span < kSpans; ++span) {
    const double now = times.span_seconds * static_cast<double>(span);
    for (; next < jobs.size() && jobs[next].arrival <= now; ++next) live.push(costs[next]);
    waiting[span] = std::max(0.0, static_cast<double>(live.size()) - devices);
    for (double room = times.span_seconds; room > 0 && !live.empty();) {
      const double cost = live.top();
      live.pop();
      if (cost > room) live.push(cost - room);
      room -= cost;
    }
  }
  for (std::size_t kind = 0; kind < area.kinds(); ++kind) {
    times.of_kind.push_back(waiting);
    for (double& price : times.of_kind.back()) price *= prices[kind];
  }
  return times;
}

// `known`: the bound by area.
double completion_by_time(const std::vector<BoundJob>& jobs, const AreaInput& area, const AreaPrices& prices,
                          double known) {
  double arrivals = 0;
  for (const BoundJob& job : jobs) arrivals += job.arrival;
  return raise_completion_bound(std::vector<TimedJob>(jobs.begin(), jobs.end()), area.devices,
                                first_prices(jobs, area, prices), known + arrivals) -
         arrivals;
}

// With jobs of one device that are all there from the start, the best plan without stops can be had.
std::optional<double> least_completion(const Problem& problem, const std::vector<BoundJob>& jobs) {
  const bool simple = std::all_of(jobs.begin(), jobs.end(),
                                  [](const BoundJob& job) { return job.arrival == 0 && job.devices == 1; });
  if (!simple || jobs.size() > kMostExactJobs || jobs.size() * problem.slots.size() > kMostExactCells)
    return {};
  PlanInput input{.jobs = jobs.size(),
                  .free_seconds = std::vector<double>(problem.slots.size(), 0.0),
                  .kinds = {},
                  .seconds = [&](std::size_t job, std::size_t slot) {
                    return jobs[job].seconds[problem.slots[slot].kind];
                  }};
  return total_completion(input, assign_least_completion(input));
}

}  // namespace

Bounds bounds_of(const Problem& problem) {
  const std::vector<BoundJob> jobs = placeable_jobs(problem);
  if (jobs.empty()) return {};
  const AreaInput area = area_of(problem, jobs);
  const AreaPrices prices = area_prices(area);
  Bounds bounds{.makespan_seconds = makespan_bound(jobs, costs_of(area, prices))};
  double total = 0;
  for (const BoundJob& job : jobs) total += job.shortest;
  total = std::max(total, best_completion_by_area(jobs, area, prices));
  const std::optional<double> least = least_completion(problem, jobs);
  total = least ? *least : completion_by_time(jobs, area, prices, total);
  bounds.exact = least.has_value();
  bounds.mean_completion_seconds = total / static_cast<double>(jobs.size());
  return bounds;
}

}  // namespace trainyard::place
