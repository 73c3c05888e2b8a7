#include <cmath>

#include <fmt/format.h>

#include "report/chart.h"
#include "report/network_axes.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kView = R"json({
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

}  // namespace

Chart make_heat_map_chart(const analyze::Analysis& analysis) {
  Chart chart{
      "heat-map",
      analysis.heat_is_utilisation ? "Utilisation of the arithmetic" : "Heat map of " + analysis.metric, "",
      "", ""};
  if (!analysis.heat_map || !sweep_networks(analyze::dimensions_of(analysis.points))) {
    chart.left_out = kNoSweep;
    return chart;
  }
  const analyze::HeatMap& map = *analysis.heat_map;
  std::vector<Row> rows;
  std::size_t shown = 0;
  for (const analyze::HeatCell& cell : map.cells) {
    const bool has_value = std::isfinite(cell.value);
    shown += has_value ? 1 : 0;
    const std::string panel = fmt::format("{} {}", map.panel, cell.panel);
    Row row{
        {"kind", std::string(has_value ? "value" : "failed")},
        {"column", cell.column},
        {"row", cell.row},
        {"panel", panel},
        {"label", fmt::format("{} {}, {} {}", map.column, cell.column, map.row, cell.row)},
        {"points", std::int64_t{cell.points}},
        {"failed", std::int64_t{cell.failed}},
        {"status", std::string(cell.status == record::Status::ok ? "no value" : record::name(cell.status))}};
    if (has_value) row.push_back({"value", cell.value});
    rows.push_back(std::move(row));
  }
  if (shown == 0) {
    chart.left_out = "no run has a result";
    return chart;
  }
  chart.explanation = "A cell a point; words where every run ended badly, gaps where none was planned.";
  if (!map.merged.empty()) chart.explanation += fmt::format(" Medians over {}.", fmt::join(map.merged, ", "));
  Panels panels;
  if (!map.panel.empty()) {
    panels.field = "panel";
    for (const double value : map.panels) panels.values.push_back(fmt::format("{} {}", map.panel, value));
  }
  chart.spec = finish_spec(
      fill_spec(kView, {{"x", to_json(map.column)},
                        {"y", to_json(map.row)},
                        {"title", to_json(analysis.heat_is_utilisation ? std::string("of the roof")
                                                                       : analysis.metric)},
                        {"format", analysis.heat_is_utilisation ? "\".0%\"" : "\".3~s\""},
                        {"alarm", to_json(std::string(kAlarmColour))}}),
      rows, panels, {3, 300, 90});
  return chart;
}

}  // namespace trainyard::report
