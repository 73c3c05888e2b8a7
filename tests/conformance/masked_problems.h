#pragma once

#include <vector>

#include "problems.h"

namespace trainyard::conformance {

// Returns the ops that the fusion pass makes of a ReLU's gradient next to a pool, a batch norm or a sum; no
// case of an op builds these.
std::vector<Problem> masked_problems();

}  // namespace trainyard::conformance
