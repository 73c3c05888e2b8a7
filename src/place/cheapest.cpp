#include <fmt/core.h>

#include "base/error.h"
#include "place/choices.h"

namespace trainyard::place {
namespace {

// Of several slots that cost the same the one where the job ends first.
std::size_t least_rate(const State& state, const Job& job, double predict::Device::*rate) {
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

void want(const State& state, double predict::Device::*rate, const char* policy, const char* key) {
  for (const Slot& slot : state.problem.slots)
    if (!(state.problem.kinds[slot.kind].*rate > 0))
      fail(ErrorKind::config, "policy {}: device '{}' has no {}", policy, state.problem.kinds[slot.kind].name,
           key);
}

}  // namespace

Choice choose_cheapest(const State& state, const Job& job) {
  want(state, &predict::Device::price_per_hour, "cheapest", "price_per_hour");
  const std::size_t slot = least_rate(state, job, &predict::Device::price_per_hour);
  const std::size_t kind = state.problem.slots[slot].kind;
  return {slot, fmt::format("costs least there: {:.2f}",
                            job.options[kind].seconds / 3600 * state.problem.kinds[kind].price_per_hour)};
}

Choice choose_least_energy(const State& state, const Job& job) {
  want(state, &predict::Device::watts, "least-energy", "watts");
  const std::size_t slot = least_rate(state, job, &predict::Device::watts);
  const std::size_t kind = state.problem.slots[slot].kind;
  return {slot, fmt::format("takes least energy there: {:.2f} kWh at {:.0f} W",
                            job.options[kind].seconds / 3.6e6 * state.problem.kinds[kind].watts,
                            state.problem.kinds[kind].watts)};
}

}  // namespace trainyard::place
