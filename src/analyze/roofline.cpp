#include "analyze/roofline.h"

namespace trainyard::analyze {

double Roofs::attainable(double flops_per_byte) const {
  return std::min(flops_per_second, flops_per_byte * std::max(bytes_per_second, cache_bytes_per_second));
}

Roofs find_roofs(std::span<const Point> points, const Roofs& given) {
  Roofs roofs;
  for (const Point& point : points) {
    const double flops = point.metric("peak_flops_per_second"), bytes = point.metric("peak_bytes_per_second");
    const double cache = point.metric("peak_cache_bytes_per_second");
    if (cache > roofs.cache_bytes_per_second) roofs.cache_bytes_per_second = cache;
    if (flops > roofs.flops_per_second) roofs.flops_per_second = flops;
    if (bytes > roofs.bytes_per_second) roofs.bytes_per_second = bytes;
  }
  if (given.flops_per_second > 0) roofs.flops_per_second = given.flops_per_second;
  if (given.bytes_per_second > 0) roofs.bytes_per_second = given.bytes_per_second;
  return roofs;
}

double utilisation(const Point& point, const Roofs& roofs, const std::string& rate) {
  const double done = point.metric(rate);
  if (std::isfinite(done) && roofs.flops_per_second > 0) return done / roofs.flops_per_second;
  return std::isfinite(done) ? kUnknown : point.metric("peak_fraction");
}

std::optional<BestUse> best_utilisation(std::span<const Point> points, const Roofs& roofs,
                                        const std::string& rate) {
  std::optional<BestUse> best;
  for (const Point& point : points) {
    const double used = utilisation(point, roofs, rate);
    if (point.ok() && std::isfinite(used) && (!best || used > best->utilisation))
      best = {&point, point.metric(rate), used};
  }
  return best;
}

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
