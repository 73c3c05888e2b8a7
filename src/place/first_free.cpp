#include <fmt/core.h>

#include "base/units.h"
#include "place/choices.h"

namespace trainyard::place {

Choice choose_first_free(const State& state, const Job& job) {
  const std::size_t slot =
      least_slot(state, job, [&](std::size_t s, const Option&) { return state.free_seconds[s]; });
  return {slot, fmt::format("free first, in {}", format_seconds(state.free_seconds[slot] - state.now))};
}

}  // namespace trainyard::place
