#pragma once

#include "analyze/point.h"

namespace trainyard::analyze {

// JoinedPoint is the same configuration on two systems.
struct JoinedPoint {
  const Point* a = nullptr;
  const Point* b = nullptr;
  double ratio = 1;  // the metric of B over that of A
};

// Joins points of A and B that both have the metric and agree in every key except those in `across`. Keys are
// compared by value, not by text. The result is in the order of A.
std::vector<JoinedPoint> join_points(std::span<const Point> a, std::span<const Point> b,
                                     const std::string& metric, const std::set<std::string>& across);

// Returns the keys whose values A and B never share. They tell the two systems apart, as the device does.
std::set<std::string> keys_apart(std::span<const Point> a, std::span<const Point> b);

struct RatioSummary {
  std::size_t points = 0;
  double mean = 0, median = 0, min = 0, max = 0, geometric_mean = 0;
  double below_one = 0;  // share of the points
};

// REQUIRES: at least one.
RatioSummary summarise_ratios(std::span<const JoinedPoint> joined);

// Groups by the values of one dimension, as A has it.
std::map<double, RatioSummary> ratios_by(std::span<const JoinedPoint> joined, const std::string& dimension);

// Returns A's points with the ratio as a metric "speedup", for regressions.
std::vector<Point> ratio_points(std::span<const JoinedPoint> joined);

}  // namespace trainyard::analyze
