#include "analyze/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "stats/statistics.h"

namespace trainyard::analyze {
namespace {

constexpr std::array kPreferred = {"batch", "width", "layers"};

std::vector<std::string> chosen(const std::vector<std::string>& dimensions) {
  std::vector<std::string> result;
  const auto add = [&](const std::string& name) {
    const bool is_there = std::find(dimensions.begin(), dimensions.end(), name) != dimensions.end();
    if (is_there && std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
  };
  for (const char* name : kPreferred) add(name);
  for (const std::string& name : dimensions) add(name);
  return result;
}

struct Fallen {
  std::vector<double> values;
  int failed = 0;
  record::Status status = record::Status::ok;
};

}  // namespace

const HeatCell* HeatMap::find(double wanted_column, double wanted_row, double wanted_panel) const {
  for (const HeatCell& cell : cells)
    if (cell.column == wanted_column && cell.row == wanted_row && cell.panel == wanted_panel) return &cell;
  return nullptr;
}

HeatMap make_heat_map(std::span<const Point> points, const std::vector<std::string>& dimensions,
                      const std::function<double(const Point&)>& value) {
  const std::vector<std::string> names = chosen(dimensions);
  if (names.size() < 2)
    fail(ErrorKind::config, "analyze: a heat map wants two settings that vary, there are {}", names.size());
  HeatMap map;
  map.column = names[0];
  map.row = names[1];
  map.panel = names.size() > 2 ? names[2] : "";
  if (names.size() > 3) map.merged.assign(names.begin() + 3, names.end());
  std::map<std::array<double, 3>, Fallen> fallen;
  std::set<double> columns, rows, panels;
  for (const Point& point : points) {
    const std::array<double, 3> place{point.key(map.panel.empty() ? map.column : map.panel),
                                      point.key(map.row), point.key(map.column)};
    if (!std::all_of(place.begin(), place.end(), [](double at) { return std::isfinite(at); })) continue;
    Fallen& here = fallen[{map.panel.empty() ? 0 : place[0], place[1], place[2]}];
    if (const double held = point.ok() ? value(point) : kUnknown; std::isfinite(held)) {
      here.values.push_back(held);
    } else {
      ++here.failed;
      if (here.status != record::Status::oom)
        here.status = point.status;  // memory is the reason one looks for
    }
  }
  for (const auto& [place, here] : fallen) {
    const auto& [panel, row, column] = place;
    columns.insert(column);
    rows.insert(row);
    panels.insert(panel);
    const bool has_value = !here.values.empty();
    map.cells.push_back({column, row, panel, has_value ? stats::median(here.values) : kUnknown,
                         static_cast<int>(here.values.size()), here.failed,
                         has_value ? record::Status::ok : here.status});
  }
  map.columns.assign(columns.begin(), columns.end());
  map.rows.assign(rows.begin(), rows.end());
  map.panels.assign(panels.begin(), panels.end());
  return map;
}

}  // namespace trainyard::analyze
