#pragma once

#include <cstdint>
#include <span>

namespace trainyard::record {

struct SteadyState {
  std::int64_t unsteady_steps = 0;  // length of the prefix to leave out
  bool steady = true;               // false: never settled; then nothing is to be left out
};

// Where the warm-up of a series of step seconds ends. The series is cut into levels, and those levels at its
// start that never come back are warm-up: a decay, a first slow step, but also a plateau as stable as what
// comes after it. Single slow steps and a disturbance that passes are none. Nothing is left out of fewer
// than eight steps.
SteadyState find_steady_state(std::span<const double> step_seconds);

}  // namespace trainyard::record
