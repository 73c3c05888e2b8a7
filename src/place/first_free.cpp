#include <fmt/core.h>

#include "base/units.h"
#include "place/choices.h"

namespace trainyard::place {

Choice choose_first_free(const State& state, const Job& job) {
  const std::size_t slot =
      least_slot(state, job, [&](std::size_t s, const Option&) { return state.free_seconds[s]; });
  const double wait = state.free_seconds[slot] - state.now;
  return {slot, wait > 0 ? fmt::format("free first, in {}", format_seconds(wait)) : "free now"};
}

}  // namespace trainyard::place
