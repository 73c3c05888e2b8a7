#include <limits>

#include "place/plan.h"
#include "place/prices.h"

namespace trainyard::place {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double end_of(const PlanInput& input, const Plan& plan, std::size_t slot) {
  double end = input.free_seconds[slot];
  for (const std::size_t job : plan[slot]) end += input.seconds(job, slot);
  return end;
}

}  // namespace

double last_end(const PlanInput& input, const Plan& plan) {
  double last = 0;
  for (std::size_t slot = 0; slot < plan.size(); ++slot)
    if (!plan[slot].empty()) last = std::max(last, end_of(input, plan, slot));
  return last;
}

namespace {

// Balance moves jobs between slots until the one that ends last can give nothing away.
class Balance {
 public:
  Balance(const PlanInput& input, Plan& plan) : input_(input), plan_(plan) {
    for (std::size_t slot = 0; slot < plan.size(); ++slot) ends_.push_back(end_of(input, plan, slot));
  }

  void put(std::size_t job, std::size_t slot) {
    plan_[slot].push_back(job);
    ends_[slot] += input_.seconds(job, slot);
  }
  // Where the job ends first, of all slots or those of a kind.
  void insert(std::size_t job, std::optional<std::size_t> kind = {}) {
    std::size_t best = 0;
    double least = kNever;
    for (std::size_t slot = 0; slot < ends_.size(); ++slot) {
      if (kind && input_.kinds[slot] != *kind) continue;
      const double end = ends_[slot] + input_.seconds(job, slot);
      if (end >= least) continue;
      least = end;
      best = slot;
    }
    put(job, best);
  }

  void improve() {
    constexpr int kMostExchanges = 20'000;
    for (int done = 0; done < kMostExchanges; ++done) {
      const std::size_t last = last_slot();
      const Exchange best = best_exchange(last);
      if (!(best.end < ends_[last] * (1 - 1e-9))) return;
      perform(last, best);
    }
  }

 private:
  struct Exchange {
    double end = kNever;  // of the later one of the two slots
    std::size_t given = 0, slot = 0;
    std::optional<std::size_t> taken{};
  };

  std::size_t last_slot() const {
    std::size_t last = 0;
    for (std::size_t slot = 0; slot < ends_.size(); ++slot)
      if (!plan_[slot].empty() && (plan_[last].empty() || ends_[slot] > ends_[last])) last = slot;
    return last;
  }

  // With many slots those that are done first are tried alone.
  std::vector<std::size_t> partners(std::size_t last) const {
    constexpr std::size_t kMostPartners = 16;
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < ends_.size(); ++slot)
      if (slot != last) slots.push_back(slot);
    const std::size_t count = std::min(slots.size(), kMostPartners);
    std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count), slots.end(),
                      [&](std::size_t a, std::size_t b) { return ends_[a] < ends_[b]; });
    slots.resize(count);
    return slots;
  }

  Exchange best_exchange(std::size_t last) const {
    Exchange best;
    const auto consider = [&](const Exchange& one) {
      if (one.end < best.end) best = one;
    };
    for (const std::size_t slot : partners(last))
      for (const std::size_t given : plan_[last]) {
        const double left = ends_[last] - input_.seconds(given, last);
        const double there = ends_[slot] + input_.seconds(given, slot);
        if (!(there < kNever)) continue;
        consider({std::max(left, there), given, slot, {}});
        for (const std::size_t taken : plan_[slot])
          consider({std::max(left + input_.seconds(taken, last), there - input_.seconds(taken, slot)), given,
                    slot, taken});
      }
    return best;
  }

  void remove(std::size_t job, std::size_t slot) {
    std::erase(plan_[slot], job);
    ends_[slot] -= input_.seconds(job, slot);
  }

  void perform(std::size_t last, const Exchange& exchange) {
    remove(exchange.given, last);
    if (exchange.taken) {
      remove(*exchange.taken, exchange.slot);
      put(*exchange.taken, last);
    }
    put(exchange.given, exchange.slot);
  }

  const PlanInput& input_;
  Plan& plan_;
  std::vector<double> ends_;
};

void shortest_first(const PlanInput& input, Plan& plan) {
  for (std::size_t slot = 0; slot < plan.size(); ++slot)
    std::stable_sort(plan[slot].begin(), plan[slot].end(), [&](std::size_t a, std::size_t b) {
      return input.seconds(a, slot) < input.seconds(b, slot);
    });
}

// Jobs where they cost least, the longest first, on the device of that kind that has least to do.
Plan cheapest_plan(const PlanInput& input) {
  AreaInput area;
  for (const std::size_t kind : input.kinds) {
    if (area.devices.size() <= kind) area.devices.resize(kind + 1, 0.0);
    ++area.devices[kind];
  }
  area.seconds.assign(input.jobs, std::vector<double>(area.kinds(), kNever));
  for (std::size_t job = 0; job < input.jobs; ++job)
    for (std::size_t slot = 0; slot < input.slots(); ++slot)
      area.seconds[job][input.kinds[slot]] = input.seconds(job, slot);
  const AreaPrices prices = area_prices(area);
  std::vector<std::size_t> cheapest(input.jobs, 0), order(input.jobs);
  std::vector<double> cost(input.jobs, 0.0);
  for (std::size_t job = 0; job < input.jobs; ++job) {
    cost[job] = least_cost(area, prices, job, cheapest[job]);
    order[job] = job;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
  Plan plan(input.slots());
  Balance balance(input, plan);
  for (const std::size_t job : order) balance.insert(job, cheapest[job]);
  return plan;
}

}  // namespace

Plan search_least_makespan(const PlanInput& input) {
  Plan plan = cheapest_plan(input);
  Balance(input, plan).improve();
  shortest_first(input, plan);
  return plan;
}

void insert_for_makespan(const PlanInput& input, Plan& plan, std::size_t job) {
  Balance balance(input, plan);
  balance.insert(job);
  balance.improve();
  shortest_first(input, plan);
}

}  // namespace trainyard::place
