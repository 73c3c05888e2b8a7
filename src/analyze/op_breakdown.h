#pragma once

#include "analyze/roofline.h"
#include "record/resource_trace.h"
#include "record/run_record.h"

namespace trainyard::analyze {

// CategoryShare is the cost of one kind of op, averaged over points. Each point has the same weight, and one
// without the kind counts as 0.
struct CategoryShare {
  std::string category;
  double time_fraction = 0;     // mean over all points
  double peak_fraction = 0;     // mean over the points that know it, while it ran; kUnknown: none does
  double flops = 0, bytes = 0;  // sums
  std::size_t points = 0;       // that have it
};

// Sorts by time, the longest first. Returns nothing when no point has a breakdown.
std::vector<CategoryShare> break_down(std::span<const Point> points, const Roofs& roofs = {});

// Makes the same breakdown separately for every value of a dimension.
std::map<double, std::vector<CategoryShare>> break_down_by(std::span<const Point> points,
                                                           const std::string& dimension,
                                                           const Roofs& roofs = {});

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
