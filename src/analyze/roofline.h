#pragma once

#include "analyze/point.h"

namespace trainyard::analyze {

// Roofs holds the peak rates of a device.
struct Roofs {
  double flops_per_second = 0;
  double bytes_per_second = 0;        // of its memory
  double cache_bytes_per_second = 0;  // of its caches, which small steps do not leave; 0: not known

  double ridge() const { return flops_per_second / bytes_per_second; }  // flops a byte
  double attainable(double flops_per_byte) const;                       // flops a second
};

// Takes the roofs that runs measured beside their steps (peak_flops_per_second, peak_bytes_per_second,
// peak_cache_bytes_per_second), the highest of each, because no run can be faster than a rate that was
// measured. Roofs in `given` take precedence over measured ones. Zero: not known.
Roofs find_roofs(std::span<const Point> points, const Roofs& given = {});

// Returns arithmetic per second over the roof; kUnknown without either. A traced run has the figure itself.
double utilisation(const Point& point, const Roofs& roofs, const std::string& rate = "flops_per_second");

// BestUse is the point that uses most of the roof.
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

// Places a whole step of every point whose work is known: flops_per_step, bytes_per_step and step_seconds, or
// the measurements of a trace (flops_per_byte, peak_fraction). A ridge of 0 means that no roofs are known and
// nothing is placed.
std::vector<RooflinePoint> model_roofline(std::span<const Point> points, const Roofs& roofs);

// Places categories of ops instead, those with at least `least_time` of the step. Loops, which contain other
// ops, are left out.
std::vector<RooflinePoint> op_roofline(std::span<const Point> points, const Roofs& roofs,
                                       double least_time = 0.01);

std::size_t count_below_ridge(std::span<const RooflinePoint> points);

}  // namespace trainyard::analyze
