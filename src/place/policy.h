#pragma once

#include "place/scheduler.h"

namespace trainyard::place {

// The order in which jobs that have arrived are placed.
enum class Order { arrival, shortest, longest };

// ScheduleState is the information that a choice may use: when each slot is expected to be free.
struct ScheduleState {
  const Problem& problem;
  double now = 0;
  std::vector<double> free_seconds;  // of each slot, not before now
  std::uint64_t draw = 0;            // for random choices: another one for each job
};

struct Choice {
  std::size_t slot = 0;
  std::string reason;  // one line
};

// A policy places jobs when they arrive, by an order and a choice, or decides at every event.
struct Policy {
  const char *name, *description;
  // REQUIRES of the choice: the job fits on some slot. Null: it decides at events.
  Choice (*choose)(const ScheduleState& state, const Job& job) = nullptr;
  Order order = Order::arrival;
  bool checks_memory = true;  // false: the scores of GPUAlloc, which place jobs where they cannot run
  std::unique_ptr<Scheduler> (*schedule)(const Problem& problem) = nullptr;
  bool stops = false;  // jobs that run
};

const std::vector<Policy>& all_policies();
// Error (usage) with the nearest name.
const Policy& find_policy(std::string_view name);

// The slot with the least value among those that the job fits on; the first of equals.
template <typename Value>
std::size_t least_slot(const ScheduleState& state, const Job& job, const Value& value_of) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s) {
    const Option& option = job.options[state.problem.slots[s].kind];
    if (!option.fits) continue;
    const double value = value_of(s, option);
    if (best && value >= least) continue;
    best = s;
    least = value;
  }
  return *best;
}

// These functions make the choices of the policies.
Choice choose_earliest_finish(const ScheduleState& state, const Job& job);
Choice choose_fastest(const ScheduleState& state, const Job& job);
Choice choose_by_chance(const ScheduleState& state, const Job& job);
Choice choose_cheapest(const ScheduleState& state, const Job& job);
Choice choose_least_energy(const ScheduleState& state, const Job& job);
// GPUAlloc's scores, as its script computes them and as it means them.
Choice choose_legacy_time(const ScheduleState& state, const Job& job);
Choice choose_legacy_time_fixed(const ScheduleState& state, const Job& job);
Choice choose_legacy_efficiency(const ScheduleState& state, const Job& job);
Choice choose_legacy_efficiency_scaled(const ScheduleState& state, const Job& job);

// Scores by which GPUAlloc's predict_driple_model.py chooses a device, one for each kind in the problem's
// order (specs of the ancestor: efficiency E = sum over resources of peak / burst, and the time, four times).
// They know of no queue and no memory.

// Its times run on from one device to the next, so the first has the least unless one is negative.
std::vector<double> legacy_times(const Job& job);
std::vector<double> legacy_times_fixed(const Job& job);

// Resources whose burst is 0 do not count. Error (config) where no use was measured.
std::vector<double> legacy_efficiencies(const Job& job);

// Shares over the largest of their column on the same device, as the network learns them; columns that are
// all zero, which make GPUAlloc's loss not a number, do not count.
class LegacyScaling {
 public:
  explicit LegacyScaling(const Problem& problem);
  std::vector<double> efficiencies(const Job& job) const;

 private:
  struct Largest {
    double burst = 0, peak = 0;
  };
  std::vector<std::vector<Largest>> largest_;  // by kind and resource
};

}  // namespace trainyard::place
