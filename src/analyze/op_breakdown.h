#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/roofs.h"

namespace trainyard::analyze {

// What one kind of op takes, on average over points; each point counts alike, one without the kind as 0.
struct CategoryShare {
  std::string category;
  double time_fraction = 0;     // mean over all points
  double peak_fraction = 0;     // mean over the points that know it, while it ran; kUnknown: none does
  double flops = 0, bytes = 0;  // sums
  std::size_t points = 0;       // that have it
};

// By time, the longest first. Empty when no point has a breakdown.
std::vector<CategoryShare> break_down(std::span<const Point> points, const Roofs& roofs = {});

// The same apart for every value of a dimension.
std::map<double, std::vector<CategoryShare>> break_down_by(std::span<const Point> points,
                                                           const std::string& dimension,
                                                           const Roofs& roofs = {});

}  // namespace trainyard::analyze
