#pragma once

#include <string>
#include <vector>

#include "record/resource_trace.h"

namespace trainyard::analyze {

// LegacyShares is the summary to which GPUAlloc and Driple reduce a column of their sampler: shares of
// samples, not of time.
struct LegacyShares {
  std::string column;  // gpu_util, gpu_memory_util, gpu_memory, cpu_util
  double burst = 0;    // of cluster 0, which in their data is the larger one, busy or not
  double idle = 0;     // of the other
  double peak = 0;     // above 90 %, or above nine tenths of the GPU's memory
};

// Summarises those of their columns that the trace has, for the first GPU and for all cores. A column of one
// value is one cluster. `gpu_memory_bytes` is the capacity where the trace does not give it.
std::vector<LegacyShares> legacy_shares(const record::ResourceTrace& trace, double gpu_memory_bytes);

}  // namespace trainyard::analyze
