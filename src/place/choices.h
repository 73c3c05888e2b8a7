#pragma once

#include "place/policy.h"

// The choices of policies, one a file.
namespace trainyard::place {

Choice choose_first_free(const State& state, const Job& job);
Choice choose_earliest_finish(const State& state, const Job& job);
Choice choose_fastest(const State& state, const Job& job);
Choice choose_by_chance(const State& state, const Job& job);
Choice choose_cheapest(const State& state, const Job& job);
Choice choose_least_energy(const State& state, const Job& job);
// GPUAlloc's scores, as its script computes them and as it means them.
Choice choose_legacy_time(const State& state, const Job& job);
Choice choose_legacy_time_fixed(const State& state, const Job& job);
Choice choose_legacy_efficiency(const State& state, const Job& job);
Choice choose_legacy_efficiency_scaled(const State& state, const Job& job);

}  // namespace trainyard::place
