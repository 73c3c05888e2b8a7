#include <string>

#include <fmt/core.h>

#include "base/units.h"
#include "place/choices.h"

namespace trainyard::place {

Choice choose_earliest_finish(const State& state, const Job& job) {
  const auto finish = [&](std::size_t s, const Option& option) {
    return state.free_seconds[s] + option.seconds;
  };
  const std::size_t slot = least_slot(state, job, finish);
  const std::string runs = format_seconds(job.options[state.problem.slots[slot].kind].seconds);
  const double wait = state.free_seconds[slot] - state.now;
  if (!(wait > 0)) return {slot, fmt::format("ends first: starts now, runs {}", runs)};
  return {slot, fmt::format("ends first: waits {}, runs {}", format_seconds(wait), runs)};
}

}  // namespace trainyard::place
