#include <set>

#include <fmt/core.h>

#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kBatchView = R"json({
  "height": 320,
  "encoding": {
    "x": {"field": "batch", "type": "quantitative", "title": "batch (images a step), logarithmic",
          "scale": {"type": "log", "base": 2, "nice": false, "padding": 16},
          "axis": {"values": $batches, "format": "d", "grid": false}},
    "y": {"type": "quantitative", "title": "images per second", "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 6}},
    "color": $colour
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "area", "opacity": 0.13, "line": false},
      "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 22, "opacity": 0.45},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line"},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "point", "size": 70},
      "encoding": {
        "y": {"field": "value"},
        "tooltip": [
          {"field": "label", "title": "cell"},
          {"field": "value", "type": "quantitative", "title": "images/s, mean of runs", "format": ",.4~r"},
          {"field": "low", "type": "quantitative", "title": "95 % from", "format": ",.4~r"},
          {"field": "high", "type": "quantitative", "title": "95 % to", "format": ",.4~r"},
          {"field": "runs", "type": "quantitative", "title": "runs"}
        ]
      }
    }
  ]
})json";

}  // namespace

Chart make_batch_chart(const StudyView& view) {
  Chart chart{"batch", "Batch sweep",
              "Line: mean over runs. Band: 95 % interval between runs. Small dots: the runs.", "", ""};
  const Axis* axis = view.find_axis("batch");
  if (axis == nullptr || !axis->numeric) {
    chart.left_out = "'batch' does not vary in this study";
    return chart;
  }
  if (view.cells.size() > kMostCells) {
    chart.left_out = fmt::format("{} cells are too many for lines", view.cells.size());
    return chart;
  }
  const Series series(view, "batch");
  std::vector<Row> rows;
  std::set<double> batches;
  for (const Cell& cell : view.cells) {
    const double batch = record::number_or(cell.setting("batch"), 0);
    const Throughput& speed = cell.throughput;
    if (speed.runs == 0 || batch <= 0) continue;
    batches.insert(batch);
    const Row head{{"batch", batch}, {"series", series.name(cell)}, {"panel", series.panel(cell)}};
    Row row = head;
    row.insert(row.end(), {{"kind", std::string("cell")},
                           {"label", cell.label},
                           {"value", speed.mean},
                           {"runs", std::int64_t{speed.runs}}});
    if (speed.has_interval())
      row.insert(row.end(), {{"low", speed.drawn_low()}, {"high", speed.interval.high}});
    rows.push_back(std::move(row));
    for (const record::RunRecord* run : cell.done) {
      if (!run->images_per_second) continue;
      Row dot = head;
      dot.insert(dot.end(), {{"kind", std::string("run")}, {"value", *run->images_per_second}});
      rows.push_back(std::move(dot));
    }
  }
  if (batches.size() < 2) {
    chart.left_out = "fewer than two values of 'batch' have results";
    return chart;
  }
  const std::string filled =
      fill_spec(kBatchView, {{"batches", to_json(std::vector<double>(batches.begin(), batches.end()))},
                             {"colour", series.colour_channel()}});
  Panels panels;
  if (series.has_panels()) panels = {"panel", series.panels(), {}};
  chart.spec = finish_spec(filled, rows, panels, {2, 360, 76});
  return chart;
}

}  // namespace trainyard::report
