#include <set>

#include <fmt/core.h>

#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kBatchView = R"json({
  "height": $height,
  "encoding": {
    "x": {"field": "batch", "type": "quantitative", "title": "batch (images a step), logarithmic",
          "scale": {"type": "log", "base": 2, "nice": false, "padding": 16},
          "axis": {"values": $batches, "format": "d", "grid": false, "labelOverlap": "greedy"}},
    "y": {"type": "quantitative", "title": "images per second", "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 6}},
    "color": $colour
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "area", "opacity": $band, "line": false},
      "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}, "detail": {"field": "line"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 22, "opacity": 0.45},
      "encoding": {"y": {"field": "value"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "line", "strokeWidth": $stroke},
      "encoding": {"y": {"field": "value"}, "detail": {"field": "line"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "point", "size": $dot},
      "encoding": {
        "y": {"field": "value"}, "shape": $shape,
        "tooltip": [
          {"field": "label", "title": "cell"},
          {"field": "value", "type": "quantitative", "title": "images/s", "format": ",.4~r"},
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
              "Line: median over runs. Band: 95 % interval between runs. Small dots: the runs.", "", ""};
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
  for (const CellView* cell : series.cells()) {
    const double batch = record::number_or(cell->setting("batch"), 0);
    const CellThroughput& speed = cell->throughput;
    batches.insert(batch);
    const Row head{{"batch", batch},
                   {"series", series.name(*cell)},
                   {"line", series.line(*cell)},
                   {"panel", series.panel(*cell)}};
    Row row = head;
    row.insert(row.end(), {{"kind", std::string("cell")},
                           {"label", cell->label},
                           {"value", speed.centre()},
                           {"runs", std::int64_t{speed.runs}}});
    if (speed.has_interval())
      row.insert(row.end(), {{"low", speed.interval.low}, {"high", speed.interval.high}});
    rows.push_back(std::move(row));
    for (const record::RunRecord* run : cell->done) {
      if (!run->images_per_second || !series.shows_runs() || speed.runs < 2) continue;
      Row dot = head;
      dot.insert(dot.end(), {{"kind", std::string("run")}, {"value", *run->images_per_second}});
      rows.push_back(std::move(dot));
    }
  }
  if (batches.size() < 2) {
    chart.left_out = "no two cells with results differ in 'batch' alone";
    return chart;
  }
  if (!series.shared().empty()) chart.explanation += fmt::format(" Here: {}.", series.shared());
  const bool few = series.shows_runs(), small = series.panels().size() > 4;
  const std::string filled =
      fill_spec(kBatchView, {{"batches", to_json(std::vector<double>(batches.begin(), batches.end()))},
                             {"colour", series.colour_channel()},
                             {"shape", series.shape_channel()},
                             {"height", small                 ? "180"
                                        : series.has_panels() ? "250"
                                                              : "300"},
                             {"band", few ? "0.13" : "0.04"},
                             {"stroke", few ? "2.2" : "1.4"},
                             {"dot", few ? "70" : "30"}});
  Panels panels;
  if (series.has_panels()) panels = {"panel", series.panels(), series.own_scales()};
  chart.spec = finish_spec(filled, rows, panels, {small ? 3 : 2, small ? 300 : 360, 76});
  return chart;
}

}  // namespace trainyard::report
