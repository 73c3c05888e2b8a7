#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/point.h"

namespace trainyard::analyze {

// What a device can do at most.
struct Roofs {
  double flops_per_second = 0;
  double bytes_per_second = 0;        // of its memory
  double cache_bytes_per_second = 0;  // of its caches, which small steps do not leave; 0: not known

  double ridge() const { return flops_per_second / bytes_per_second; }  // flops a byte
  double attainable(double flops_per_byte) const;                       // flops a second
};

// The roofs that runs measured beside their steps (peak_flops_per_second, peak_bytes_per_second,
// peak_cache_bytes_per_second), the highest
// of each: no run can be faster than what was seen. What is given goes before what was measured. Zero: not
// known.
Roofs find_roofs(std::span<const Point> points, const Roofs& given = {});

// Arithmetic done a second over the roof; kUnknown without either. A run that was traced knows it itself.
double utilisation(const Point& point, const Roofs& roofs, const std::string& rate = "flops_per_second");

// The point that uses most of the roof.
struct BestUse {
  const Point* point = nullptr;
  double flops_per_second = 0, utilisation = 0;
};
std::optional<BestUse> best_utilisation(std::span<const Point> points, const Roofs& roofs,
                                        const std::string& rate = "flops_per_second");

struct RooflinePoint {
  const Point* point = nullptr;
  std::string category;  // of ops; "" for a whole step
  double flops_per_byte = 0;
  double peak_fraction = 0;  // of the arithmetic roof
  bool below_ridge = false;  // bandwidth is the lower roof
};

// A whole step of every point that knows its work: flops_per_step, bytes_per_step and step_seconds, or what a
// trace measured (flops_per_byte, peak_fraction). A ridge of 0: no roofs are known, and nothing is placed.
std::vector<RooflinePoint> model_roofline(std::span<const Point> points, const Roofs& roofs);

// Categories of ops instead, those with at least `least_time` of the step; loops, which hold other ops, are
// left out.
std::vector<RooflinePoint> op_roofline(std::span<const Point> points, const Roofs& roofs,
                                       double least_time = 0.01);

std::size_t count_below_ridge(std::span<const RooflinePoint> points);

}  // namespace trainyard::analyze
