#pragma once

#include <optional>

#include "analyze/signal.h"

namespace trainyard::analyze {

struct Period {
  double seconds = 0;
  double correlation = 0;  // of the signal with itself, so much later: 1 repeats exactly
};

// By autocorrelation. Absent where the signal does not repeat clearly, or fewer than three times.
std::optional<Period> find_period(const Signal& signal);

}  // namespace trainyard::analyze
