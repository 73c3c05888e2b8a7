#pragma once

#include "problems.h"

namespace trainyard::conformance {

// Returns one problem for each form of a norm or a unit that makes a sum beside its own output: only the
// planner makes these.
std::vector<Problem> joined_problems();

}  // namespace trainyard::conformance
