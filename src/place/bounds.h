#pragma once

#include "place/problem.h"

namespace trainyard::place {

// Bounds are times that no schedule goes below in which jobs keep to devices that they fit on and a device
// runs one at a time; as jobs turn out, not as predicted. Jobs that fit nowhere do not count.
struct Bounds {
  double mean_completion_seconds = 0;  // of schedules that stop no job
  double makespan_seconds = 0;
  bool exact = false;  // is the first the least that there is
};

Bounds bounds_of(const Problem& problem);

}  // namespace trainyard::place
