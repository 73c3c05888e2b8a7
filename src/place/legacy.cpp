#include <algorithm>

#include <fmt/core.h>

#include "place/choices.h"
#include "place/legacy_score.h"

namespace trainyard::place {
namespace {

// The first slot of a kind that is free: GPUAlloc has one of each.
Choice on_kind(const State& state, std::size_t kind, std::string reason) {
  std::size_t best = state.problem.slots.size();
  for (std::size_t s = 0; s < state.problem.slots.size(); ++s)
    if (state.problem.slots[s].kind == kind &&
        (best == state.problem.slots.size() || state.free_seconds[s] < state.free_seconds[best]))
      best = s;
  return {best, std::move(reason)};
}

std::size_t position(const std::vector<double>& scores, std::vector<double>::const_iterator at) {
  return static_cast<std::size_t>(at - scores.begin());
}

Choice with_least(const State& state, const std::vector<double>& scores) {
  const std::size_t kind = position(scores, std::min_element(scores.begin(), scores.end()));
  return on_kind(state, kind, fmt::format("least time score {:.4g}", scores[kind]));
}

Choice with_most(const State& state, const std::vector<double>& scores) {
  const std::size_t kind = position(scores, std::max_element(scores.begin(), scores.end()));
  return on_kind(state, kind, fmt::format("largest efficiency score {:.4g}", scores[kind]));
}

}  // namespace

Choice choose_legacy_time(const State& state, const Job& job) { return with_least(state, legacy_times(job)); }

Choice choose_legacy_time_fixed(const State& state, const Job& job) {
  return with_least(state, legacy_times_fixed(job));
}

Choice choose_legacy_efficiency(const State& state, const Job& job) {
  return with_most(state, legacy_efficiencies(job));
}

Choice choose_legacy_efficiency_scaled(const State& state, const Job& job) {
  return with_most(state, LegacyScaling(state.problem).efficiencies(job));
}

}  // namespace trainyard::place
