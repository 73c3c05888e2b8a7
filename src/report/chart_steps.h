#pragma once

#include <cstdint>
#include <vector>

#include "record/run_record.h"

namespace trainyard::report {

struct TracePoint {
  std::int64_t step = 0;  // from 1, warm-up steps first
  double seconds = 0;
  bool outlier = false;
};

// The steps of a run as a picture of at most about `most` points: of every stretch of steps its fastest and
// its slowest, and every outlier.
std::vector<TracePoint> trace_steps(const record::RunRecord& run, std::size_t most);

}  // namespace trainyard::report
