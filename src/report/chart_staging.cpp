#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "report/chart.h"
#include "report/naming.h"
#include "report/number_text.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

// More cells are put together by their words, and of more than that the slowest are shown.
constexpr std::size_t kMostStagingBars = 24;

constexpr const char* kStagingView = R"json({
  "height": {"step": 26},
  "encoding": {"y": {"field": "cell", "type": "nominal", "sort": null, "title": null,
                     "axis": {"labelOverlap": false}}},
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "bar", "height": 13, "cornerRadiusEnd": 3, "opacity": 0.82, "color": $colour},
      "encoding": {"x": {"field": "seconds", "type": "quantitative", "title": "seconds of staging",
                         "axis": {"tickCount": 6}}}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 34, "fill": "@card", "stroke": "@ink", "strokeWidth": 1.1},
      "encoding": {
        "x": {"field": "seconds", "type": "quantitative"},
        "tooltip": [
          {"field": "label", "title": "cell"}, {"field": "run"}, {"field": "node"},
          {"field": "seconds", "type": "quantitative", "title": "seconds", "format": ",.4~r"}
        ]
      }
    }
  ]
})json";

}  // namespace

Chart make_staging_chart(const StudyView& view) {
  Chart chart{
      "staging", "Staging times",
      "Seconds to bring the data to where a run reads it, in no throughput. Bar: mean. Dots: the runs.", "",
      ""};
  struct Staged {
    std::string name;
    std::vector<std::pair<const Cell*, const record::RunRecord*>> runs;
    double seconds = 0;  // mean
  };
  Cells cells;
  for (const Cell& cell : view.cells)
    if (std::any_of(cell.done.begin(), cell.done.end(), [&](const record::RunRecord* run) {
          return std::isfinite(run->figure_or("staging_seconds", NAN));
        }))
      cells.push_back(&cell);
  if (cells.empty()) {
    chart.left_out = "no run staged its data";
    return chart;
  }
  std::vector<Axis> naming = naming_axes(cells, view.axes);
  if (cells.size() > kMostStagingBars) std::erase_if(naming, [](const Axis& axis) { return axis.numeric; });
  std::vector<Staged> bars;
  for (const Cell* cell : cells) {
    const std::string name = naming.empty() ? "all cells" : label(*cell, naming);
    auto found = std::find_if(bars.begin(), bars.end(), [&](const Staged& bar) { return bar.name == name; });
    if (found == bars.end()) found = bars.insert(bars.end(), {name, {}, 0});
    for (const record::RunRecord* run : cell->done)
      if (std::isfinite(run->figure_or("staging_seconds", NAN))) found->runs.emplace_back(cell, run);
  }
  for (Staged& bar : bars) {
    for (const auto& [cell, run] : bar.runs) bar.seconds += run->figure_or("staging_seconds", 0);
    bar.seconds /= static_cast<double>(bar.runs.size());
  }
  if (bars.size() == 1) {
    chart.left_out =
        fmt::format("there is one bar only, of {} s on average", number_text(bars.front().seconds));
    return chart;
  }
  if (bars.size() > kMostStagingBars) {
    chart.explanation += fmt::format(" The slowest {} of {}.", kMostStagingBars, bars.size());
    std::stable_sort(bars.begin(), bars.end(),
                     [](const Staged& a, const Staged& b) { return a.seconds > b.seconds; });
    bars.resize(kMostStagingBars);
  }
  std::vector<Row> rows;
  for (const Staged& bar : bars) {
    rows.push_back({{"kind", std::string("cell")}, {"cell", bar.name}, {"seconds", bar.seconds}});
    for (const auto& [cell, run] : bar.runs)
      rows.push_back({{"kind", std::string("run")},
                      {"cell", bar.name},
                      {"label", cell->label},
                      {"seconds", run->figure_or("staging_seconds", 0)},
                      {"run", run->id},
                      {"node", run->node}});
  }
  chart.spec = finish_spec(fill_spec(kStagingView, {{"colour", to_json(std::string(kPlainColour))}}), rows,
                           {}, {1, 420, 0, "cell"});
  return chart;
}

}  // namespace trainyard::report
