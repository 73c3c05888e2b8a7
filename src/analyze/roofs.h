#pragma once

#include <optional>
#include <span>

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

}  // namespace trainyard::analyze
