#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/point.h"
#include "analyze/roofs.h"

namespace trainyard::analyze {

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
