#pragma once

#include "record/run_record.h"
#include "train/session/session.h"

namespace trainyard::run {

// Flops per second of the best matrix product in the run's precision, measured now for half a second on its
// device and so many threads, or on options.cores where it names them, to which the calling thread stays
// limited; 0 where the backend has none.
double measure_peak(const train::SessionOptions& options, int threads);

// Measures now, for a tenth of a second each, how fast the run's device reads: peak_bytes_per_second of its
// memory, and peak_cache_bytes_per_second of arrays that stay in its caches: those of a CPU's threads, or the
// one that all of a GPU shares. Steps of small networks are below the second roof only.
void add_bandwidth_roofs(record::RunRecord& run, const train::SessionOptions& options, int threads);

}  // namespace trainyard::run
