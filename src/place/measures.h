#pragma once

#include "place/simulate.h"

namespace trainyard::place {

// Fills in the figures of an outcome from its decisions. Those of users simulate each user alone by the same
// policy.
void summarise(const Problem& problem, const Policy& policy, Outcome& outcome);

}  // namespace trainyard::place
