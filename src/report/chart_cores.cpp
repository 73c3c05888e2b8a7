#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "report/chart.h"
#include "report/naming.h"
#include "report/number_text.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kCoresView = R"json({
  "height": 240,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'ideal'"}],
      "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": "@guide"},
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
              "axis": {"values": $asked, "format": "d", "grid": false, "labelOverlap": "greedy"},
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
  Cells cells;
  std::vector<Row> rows;
  std::vector<double> asked, used;
  for (const Cell& cell : view.cells)
    for (const record::RunRecord* run : cell.done) {
      const double threads = cores_asked(cell, *run), cores = run->figure_or("cores_used", 0);
      if (!(threads > 0) || !(cores > 0)) continue;
      cells.push_back(&cell);
      asked.push_back(threads);
      used.push_back(cores);
      rows.push_back({{"kind", std::string("run")},
                      {"asked", threads},
                      {"used", cores},
                      {"label", cell.label},
                      {"run", run->id},
                      {"node", run->node}});
    }
  if (asked.empty()) {
    chart.left_out = "no run says both how many threads it was given and how many cores it used";
    return chart;
  }
  // The word that tells most of these cells apart has a colour.
  std::vector<Axis> colour;
  for (const Axis& axis : naming_axes(cells, view.axes))
    if (!axis.numeric && axis.values.size() <= kPaletteColours &&
        (colour.empty() || axis.values.size() > colour.front().values.size()))
      colour = {axis};
  std::vector<std::string> series;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].emplace_back("series", colour.empty() ? std::string() : label(*cells[i], colour));
    const std::string name = record::to_text(rows[i].back().second);
    if (std::find(series.begin(), series.end(), name) == series.end()) series.push_back(name);
  }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  if (asked.size() == 1) {
    const auto [low, high] = std::minmax_element(used.begin(), used.end());
    chart.left_out =
        fmt::format("every run was given {}; they used {} to {} cores",
                    count_text(std::llround(asked.front()), "thread"), number_text(*low), number_text(*high));
    return chart;
  }
  for (const double end : {0.0, asked.back()})
    rows.push_back({{"kind", std::string("ideal")}, {"asked", end}, {"used", end}});
  const std::string channel =
      fmt::format(R"({{"field": "series", "type": "nominal", "title": null, "sort": {}{}}})", to_json(series),
                  series.size() < 2 ? R"(, "legend": null)" : "");
  chart.spec = finish_spec(fill_spec(kCoresView, {{"asked", to_json(asked)}, {"colour", channel}}), rows, {},
                           {1, 320, 76});
  return chart;
}

}  // namespace trainyard::report
