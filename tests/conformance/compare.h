#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "problems.h"

namespace trainyard::conformance {

struct Verdict {
  std::vector<std::string> faults;    // empty: the backend agrees with the reference
  std::vector<std::string> declines;  // "NODE: CANDIDATE declines: REASON"
};

// Runs forward pass, backward pass and changes of state in f32 on the backend and on the reference, and
// compares every value. The backend's first choices run with images in several layouts and in place; then
// each candidate that was not among them runs in turn. A backend that rounds to tf32 gets first values that
// stand it, and what it makes of them may differ by as much as that rounds.
Verdict compare_with_reference(const Problem& problem, const backend::Backend& backend, bool tf32 = false);

}  // namespace trainyard::conformance
