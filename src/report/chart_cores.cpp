#include <algorithm>

#include "report/chart.h"
#include "report/series.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kCoresView = R"json({
  "height": 280,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'ideal'"}],
      "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": "#8a949e"},
      "encoding": {
        "x": {"field": "asked", "type": "quantitative"},
        "y": {"field": "used", "type": "quantitative"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 60, "opacity": 0.7},
      "encoding": {
        "x": {"field": "asked", "type": "quantitative", "title": "threads asked for",
              "axis": {"values": $asked, "format": "d", "grid": false},
              "scale": {"zero": true, "nice": false, "padding": 14}},
        "y": {"field": "used", "type": "quantitative", "title": "cores used", "axis": {"tickCount": 6}},
        "color": $colour,
        "tooltip": [
          {"field": "label", "title": "cell"}, {"field": "run"}, {"field": "node"},
          {"field": "asked", "type": "quantitative", "title": "threads asked for"},
          {"field": "used", "type": "quantitative", "title": "cores used", "format": ".3~r"}
        ]
      }
    }
  ]
})json";

// As the run understood it; else as it was asked.
double cores_asked(const Cell& cell, const record::RunRecord& run) {
  for (const char* setting : {"threads", "tasks_per_node"})
    if (const double asked = record::number_or(cell.setting(setting), 0); asked > 0)
      return run.figure_or("threads", asked);
  return run.figure_or("threads", 0);
}

}  // namespace

Chart make_cores_chart(const StudyView& view) {
  Chart chart{"cores", "Cores used against threads asked for",
              "A dot a run. Dashed: all threads busy all the time; above it the limit was not kept.", "", ""};
  const Series series(view, "threads");
  std::vector<Row> rows;
  std::vector<double> asked;
  for (const Cell& cell : view.cells)
    for (const record::RunRecord* run : cell.done) {
      const double threads = cores_asked(cell, *run);
      const double used = run->figure_or("cores_used", 0);
      if (!(threads > 0) || !(used > 0)) continue;
      asked.push_back(threads);
      rows.push_back({{"kind", std::string("run")},
                      {"asked", threads},
                      {"used", used},
                      {"label", cell.label},
                      {"series", series.name(cell)},
                      {"panel", series.panel(cell)},
                      {"run", run->id},
                      {"node", run->node}});
    }
  if (asked.empty()) {
    chart.left_out = "no run says both how many threads it was given and how many cores it used";
    return chart;
  }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  Panels panels;
  if (series.has_panels()) panels = {"panel", series.panels(), {}};
  for (const std::string& panel : series.has_panels() ? series.panels() : std::vector<std::string>{""})
    for (const double end : {0.0, asked.back()})
      rows.push_back({{"kind", std::string("ideal")}, {"asked", end}, {"used", end}, {"panel", panel}});
  chart.spec =
      finish_spec(fill_spec(kCoresView, {{"asked", to_json(asked)}, {"colour", series.colour_channel()}}),
                  rows, panels, {3, 320, 76});
  return chart;
}

}  // namespace trainyard::report
