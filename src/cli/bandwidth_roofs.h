#pragma once

#include "record/run_record.h"
#include "train/session.h"

namespace trainyard::cli {

// Measures now, for a tenth of a second each, how fast the run's device reads: peak_bytes_per_second of its
// memory, and on the CPU peak_cache_bytes_per_second of arrays that stay in its threads' caches. Steps of
// small networks are below the second roof only.
void add_bandwidth_roofs(record::RunRecord& run, const train::SessionOptions& options, int threads);

}  // namespace trainyard::cli
