#include "analyze/roofs.h"

#include <algorithm>
#include <cmath>

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

}  // namespace trainyard::analyze
