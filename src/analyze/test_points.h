#pragma once

// For tests only: points with numbers for keys and metrics.

#include "analyze/point.h"

namespace trainyard::analyze {

inline Point make_point(const std::map<std::string, std::int64_t>& keys,
                        std::map<std::string, double> metrics) {
  Point point;
  for (const auto& [name, value] : keys) point.keys[name] = value;
  point.metrics = std::move(metrics);
  point.runs = 1;
  return point;
}

}  // namespace trainyard::analyze
