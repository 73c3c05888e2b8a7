#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyze/point.h"

namespace trainyard::analyze {

struct HeatCell {
  double column = 0, row = 0, panel = 0;
  double value = kUnknown;                     // the median over the points that fall together here
  int points = 0;                              // that have a value
  int failed = 0;                              // points without one
  record::Status status = record::Status::ok;  // why there is no value at all
};

// HeatMap is a pivot table: dimensions on both axes, and a panel for each value of a third one.
struct HeatMap {
  std::string column, row, panel;             // panel "": one only
  std::vector<double> columns, rows, panels;  // values, ascending
  std::vector<HeatCell> cells;                // those that hold a point; a gap was never planned
  std::vector<std::string> merged;            // further dimensions that fall together in a cell

  const HeatCell* find(double column, double row, double panel) const;  // null: a gap
};

// `value` may be kUnknown. `dimensions` are those of the points. The first three of batch, width and layers
// among them, else the first three, become column, row and panel. Throws Error (config) with fewer than two.
HeatMap make_heat_map(std::span<const Point> points, const std::vector<std::string>& dimensions,
                      const std::function<double(const Point&)>& value);

}  // namespace trainyard::analyze
