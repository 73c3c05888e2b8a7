#include <fmt/core.h>

#include "base/units.h"
#include "place/choices.h"

namespace trainyard::place {

// Of several devices that are as fast the one that is free first.
Choice choose_fastest(const State& state, const Job& job) {
  const std::size_t fastest =
      least_slot(state, job, [](std::size_t, const Option& option) { return option.seconds; });
  const std::size_t kind = state.problem.slots[fastest].kind;
  std::size_t slot = fastest;
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s)
    if (state.problem.slots[s].kind == kind && state.free_seconds[s] < state.free_seconds[slot]) slot = s;
  return {slot, fmt::format("runs fastest there: {}", format_seconds(job.options[kind].seconds))};
}

}  // namespace trainyard::place
