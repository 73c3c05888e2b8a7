#include "base/text.h"
#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"
#include "stats/statistics.h"

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
      "mark": {"type": "rect", "stroke": "@card"},
      "encoding": {
        "color": {"field": "value", "type": "quantitative", "title": $title,
                  "scale": {"range": ["@low", "@middle", "@high"], "interpolate": "rgb", "zero": true}, "legend": {"format": $format}},
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
      "mark": {"type": "rect", "fill": "@failed", "stroke": "@card"},
      "encoding": {"tooltip": [{"field": "label", "title": "point"}, {"field": "status", "title": "ended"}]}
    },
    {
      "transform": [{"filter": "datum.kind == 'failed'"}],
      "mark": {"type": "text", "fontSize": 9, "color": $alarm},
      "encoding": {"text": {"field": "status"}}
    }
  ]
})json";

constexpr std::size_t kMostHeatPanels = 12;
constexpr double kLeastOfPanel = 4;  // points; a map that is emptier puts the panels together

// Points of one place fall together, whatever the third setting; the median is shown.
analyze::HeatMap without_panels(const analyze::HeatMap& map) {
  analyze::HeatMap merged = map;
  merged.merged.insert(merged.merged.begin(), map.panel);
  merged.panel.clear();
  merged.panels = {0};
  std::map<std::pair<double, double>, std::vector<const analyze::HeatCell*>> places;
  for (const analyze::HeatCell& cell : map.cells) places[{cell.column, cell.row}].push_back(&cell);
  merged.cells.clear();
  for (const auto& [place, cells] : places) {
    analyze::HeatCell sum{place.first, place.second};
    std::vector<double> values;
    for (const analyze::HeatCell* cell : cells) {
      sum.points += cell->points;
      sum.failed += cell->failed;
      if (std::isfinite(cell->value))
        values.push_back(cell->value);
      else
        sum.status = cell->status;
    }
    if (!values.empty()) {
      sum.value = stats::median(values);
      sum.status = record::Status::ok;
    }
    merged.cells.push_back(sum);
  }
  return merged;
}

std::string heat_title(const analyze::Analysis& analysis, const analyze::Part& part) {
  const std::string what =
      analysis.heat_is_utilisation ? "Utilisation of the arithmetic" : "Heat map of " + analysis.metric;
  return part.name.empty() ? what : what + ": " + part.name;
}

std::vector<Row> heat_rows(const analyze::HeatMap& map) {
  std::vector<Row> rows;
  for (const analyze::HeatCell& cell : map.cells) {
    const bool has_value = std::isfinite(cell.value);
    const char* ended = cell.status == record::Status::ok ? "no value" : record::name(cell.status);
    Row row{{"kind", std::string(has_value ? "value" : "failed")},
            {"column", cell.column},
            {"row", cell.row},
            {"panel", map.panel.empty() ? std::string() : fmt::format("{} {}", map.panel, cell.panel)},
            {"label", fmt::format("{} {}, {} {}", map.column, cell.column, map.row, cell.row)},
            {"points", std::int64_t{cell.points}},
            {"failed", std::int64_t{cell.failed}},
            {"status", std::string(ended)}};
    if (has_value) row.push_back({"value", cell.value});
    rows.push_back(std::move(row));
  }
  return rows;
}

Chart make_heat_map(const analyze::Analysis& analysis, const analyze::Part& part, const std::string& id) {
  const analyze::HeatMap& whole = *part.heat_map;
  const bool sparse = !whole.panel.empty() && static_cast<double>(whole.cells.size()) <
                                                  kLeastOfPanel * static_cast<double>(whole.panels.size());
  const analyze::HeatMap map = sparse ? without_panels(whole) : whole;
  Chart chart{id, heat_title(analysis, part), "", "", ""};
  const auto shown = std::count_if(map.cells.begin(), map.cells.end(),
                                   [](const analyze::HeatCell& cell) { return std::isfinite(cell.value); });
  if (shown == 0) chart.left_out = "no run has a result";
  if (shown == 1) chart.left_out = "one point only has a result";
  if (!chart.left_out.empty()) return chart;
  chart.explanation = "A cell a point; words where every run ended badly, gaps where none was planned.";
  if (!map.merged.empty()) chart.explanation += fmt::format(" Medians over {}.", joined(map.merged, ", "));
  Panels panels;
  if (!map.panel.empty()) {
    // If the third setting has many values, an evenly spaced selection is shown.
    const std::size_t step = (map.panels.size() + kMostHeatPanels - 1) / kMostHeatPanels;
    panels = {"panel", {}, {"x", "y"}};
    for (std::size_t i = 0; i < map.panels.size(); i += step)
      panels.values.push_back(fmt::format("{} {}", map.panel, map.panels[i]));
    if (step > 1) chart.explanation += fmt::format(" Some of {} values of {}.", map.panels.size(), map.panel);
  }
  chart.spec = finish_spec(
      fill_spec(kHeatMapView, {{"x", to_json(map.column)},
                               {"y", to_json(map.row)},
                               {"title", to_json(analysis.heat_is_utilisation ? std::string("of the roof")
                                                                              : analysis.metric)},
                               {"format", analysis.heat_is_utilisation ? "\".0%\"" : "\".3~s\""},
                               {"alarm", to_json(std::string(kAlarmColour))}}),
      heat_rows(map), panels, {4, 250, 66});
  return chart;
}

}  // namespace

std::vector<Chart> make_heat_map_charts(const analyze::Analysis& analysis) {
  std::vector<Chart> charts;
  for (const analyze::Part& part : analysis.parts)
    if (part.heat_map && sweep_networks(part.dimensions))
      charts.push_back(make_heat_map(
          analysis, part, charts.empty() ? "heat-map" : fmt::format("heat-map-{}", charts.size() + 1)));
  if (charts.empty()) charts.push_back({"heat-map", heat_title(analysis, {}), "", "", kNoSweep});
  return charts;
}

}  // namespace trainyard::report
