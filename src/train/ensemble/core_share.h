#pragma once

#include <vector>

#include "comm/collective/group.h"

namespace trainyard::train::ensemble {

// Who computes on the same cores of a machine as this process.
struct CoreSharers {
  int count = 1, number = 0;  // this one among them
};

// Ranks that may use the same cores of the same machine share them. Called by all ranks together.
CoreSharers find_core_sharers(comm::collective::Job& job, double patience_seconds);

// The cores of one of them: as many as threads, or an equal share where `threads` is 0, at least one. Where
// there are more threads than cores several have the same. REQUIRES: `all` is not empty.
std::vector<int> share_of_cores(const std::vector<int>& all, const CoreSharers& sharers, int threads);

}  // namespace trainyard::train::ensemble
