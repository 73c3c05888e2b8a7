#include "analyze/roofline.h"

#include <algorithm>
#include <cmath>

namespace trainyard::analyze {
namespace {

bool can_be_drawn(double flops_per_byte, double peak_fraction) {
  return std::isfinite(flops_per_byte) && flops_per_byte > 0 && std::isfinite(peak_fraction) &&
         peak_fraction > 0;
}

bool are_known(const Roofs& roofs) { return roofs.flops_per_second > 0 && roofs.bytes_per_second > 0; }

double intensity_of(const Point& point) {
  const double traced = point.metric("flops_per_byte");
  return std::isfinite(traced) ? traced : point.metric("flops_per_step") / point.metric("bytes_per_step");
}

}  // namespace

std::vector<RooflinePoint> model_roofline(std::span<const Point> points, const Roofs& roofs) {
  std::vector<RooflinePoint> placed;
  if (!are_known(roofs)) return placed;
  for (const Point& point : points) {
    const double intensity = intensity_of(point), used = utilisation(point, roofs);
    if (point.ok() && can_be_drawn(intensity, used))
      placed.push_back({&point, "", intensity, used, intensity < roofs.ridge()});
  }
  return placed;
}

std::vector<RooflinePoint> op_roofline(std::span<const Point> points, const Roofs& roofs, double least_time) {
  std::vector<RooflinePoint> placed;
  if (!are_known(roofs)) return placed;
  for (const Point& point : points)
    for (const OpCategory& category : point.ops) {
      if (category.name == kLoopCategory || !(category.time_fraction >= least_time)) continue;
      const double intensity = category.flops / category.bytes;
      const double used = peak_fraction_of(category, roofs.flops_per_second);
      if (can_be_drawn(intensity, used))
        placed.push_back({&point, category.name, intensity, used, intensity < roofs.ridge()});
    }
  return placed;
}

std::size_t count_below_ridge(std::span<const RooflinePoint> points) {
  return static_cast<std::size_t>(std::count_if(
      points.begin(), points.end(), [](const RooflinePoint& point) { return point.below_ridge; }));
}

}  // namespace trainyard::analyze
