#include <fmt/core.h>

#include "base/philox.h"
#include "place/choices.h"

namespace trainyard::place {

Choice choose_by_chance(const State& state, const Job& job) {
  std::vector<std::size_t> fitting;
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s)
    if (job.options[state.problem.slots[s].kind].fits) fitting.push_back(s);
  const Philox random(state.draw, stream_of("random placement"));
  const std::size_t slot = fitting[random.word(0) % fitting.size()];
  return {slot, fmt::format("by chance, one of {} that it fits on", fitting.size())};
}

}  // namespace trainyard::place
