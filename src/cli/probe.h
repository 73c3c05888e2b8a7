#pragma once

namespace CLI {
class App;
}

#include <functional>

#include "record/run_record.h"
#include "train/session/session.h"

namespace trainyard::cli {

// Measures now, for a tenth of a second each, how fast the run's device reads: peak_bytes_per_second of its
// memory, and peak_cache_bytes_per_second of arrays that stay in its caches: those of a CPU's threads, or the
// one that all of a GPU shares. Steps of small networks are below the second roof only.
void add_bandwidth_roofs(record::RunRecord& run, const train::SessionOptions& options, int threads);

std::function<int()> declare_probe(CLI::App& command);

}  // namespace trainyard::cli
