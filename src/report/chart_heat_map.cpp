#include <cmath>
#include <set>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/network_axes.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kHeatMapView = R"json({
  "height": {"step": 26},
  "encoding": {
    "x": {"field": "column", "type": "ordinal", "title": $x, "axis": {"labelAngle": 0, "grid": false}},
    "y": {"field": "row", "type": "ordinal", "title": $y, "sort": "descending", "axis": {"grid": false}}
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'value'"}],
      "mark": {"type": "rect", "stroke": "white"},
      "encoding": {
        "color": {"field": "value", "type": "quantitative", "title": $title,
                  "scale": {"scheme": "viridis", "zero": true}, "legend": {"format": $format}},
        "tooltip": [
          {"field": "label", "title": "point"},
          {"field": "value", "type": "quantitative", "title": $title, "format": $format},
          {"field": "points", "type": "quantitative", "title": "points"},
          {"field": "failed", "type": "quantitative", "title": "of the others failed"}
        ]
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'failed'"}],
      "mark": {"type": "rect", "fill": "#f0e4e0", "stroke": "white"},
      "encoding": {"tooltip": [{"field": "label", "title": "point"}, {"field": "status", "title": "ended"}]}
    },
    {
      "transform": [{"filter": "datum.kind == 'failed'"}],
      "mark": {"type": "text", "fontSize": 9, "color": $alarm},
      "encoding": {"text": {"field": "status"}}
    }
  ]
})json";

// Cells of all parts, and a panel for each part and each value of its third dimension.
struct HeatRows {
  std::vector<Row> rows;
  std::vector<std::string> panels;
  std::set<std::string> merged;
  std::string x, y;  // titles of the axes; the parts of a study differ in them
  std::size_t shown = 0;

  void add(const analyze::Part& part) {
    const analyze::HeatMap& map = *part.heat_map;
    const auto panel_of = [&](double value) {
      const std::string third = map.panel.empty() ? "" : fmt::format("{} {}", map.panel, value);
      return part.name.empty() || third.empty() ? part.name + third : part.name + ", " + third;
    };
    for (const double value : map.panels) panels.push_back(panel_of(value));
    merged.insert(map.merged.begin(), map.merged.end());
    x = x.empty() || x == map.column ? map.column : x + " or " + map.column;
    y = y.empty() || y == map.row ? map.row : y + " or " + map.row;
    for (const analyze::HeatCell& cell : map.cells) {
      const bool has_value = std::isfinite(cell.value);
      shown += has_value ? 1 : 0;
      const char* ended = cell.status == record::Status::ok ? "no value" : record::name(cell.status);
      Row row{{"kind", std::string(has_value ? "value" : "failed")},
              {"column", cell.column},
              {"row", cell.row},
              {"panel", panel_of(cell.panel)},
              {"label", fmt::format("{} {}, {} {}", map.column, cell.column, map.row, cell.row)},
              {"points", std::int64_t{cell.points}},
              {"failed", std::int64_t{cell.failed}},
              {"status", std::string(ended)}};
      if (has_value) row.push_back({"value", cell.value});
      rows.push_back(std::move(row));
    }
  }
};

}  // namespace

Chart make_heat_map_chart(const analyze::Analysis& analysis) {
  Chart chart{
      "heat-map",
      analysis.heat_is_utilisation ? "Utilisation of the arithmetic" : "Heat map of " + analysis.metric, "",
      "", ""};
  HeatRows heat;
  for (const analyze::Part& part : analysis.parts)
    if (part.heat_map && sweep_networks(part.dimensions)) heat.add(part);
  if (heat.rows.empty()) chart.left_out = kNoSweep;
  if (chart.left_out.empty() && heat.shown == 0) chart.left_out = "no run has a result";
  if (!chart.left_out.empty()) return chart;
  chart.explanation = "A cell a point; words where every run ended badly, gaps where none was planned.";
  if (!heat.merged.empty())
    chart.explanation += fmt::format(" Medians over {}.", fmt::join(heat.merged, ", "));
  Panels panels;
  if (heat.panels.size() > 1 || !heat.panels[0].empty()) panels = {"panel", heat.panels, {"x", "y"}};
  chart.spec = finish_spec(
      fill_spec(kHeatMapView, {{"x", to_json(heat.x)},
                               {"y", to_json(heat.y)},
                               {"title", to_json(analysis.heat_is_utilisation ? std::string("of the roof")
                                                                              : analysis.metric)},
                               {"format", analysis.heat_is_utilisation ? "\".0%\"" : "\".3~s\""},
                               {"alarm", to_json(std::string(kAlarmColour))}}),
      heat.rows, panels, {3, 300, 90});
  return chart;
}

}  // namespace trainyard::report
