#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/roofline.h"
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

}  // namespace trainyard::analyze
