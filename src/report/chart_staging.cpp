#include <algorithm>
#include <cmath>

#include "report/chart.h"
#include "report/number_text.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

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
      "mark": {"type": "point", "size": 34, "fill": "white", "stroke": "#1c2430", "strokeWidth": 1.1},
      "encoding": {
        "x": {"field": "seconds", "type": "quantitative"},
        "tooltip": [
          {"field": "cell"}, {"field": "run"}, {"field": "node"},
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
  std::vector<Row> rows;
  std::size_t longest = 0;
  for (const Cell& cell : view.cells) {
    double sum = 0;
    std::int64_t runs = 0;
    for (const record::RunRecord* run : cell.done) {
      const double seconds = run->figure_or("staging_seconds", NAN);
      if (!std::isfinite(seconds)) continue;
      sum += seconds;
      ++runs;
      rows.push_back({{"kind", std::string("run")},
                      {"cell", cell.label},
                      {"seconds", seconds},
                      {"run", run->id},
                      {"node", run->node}});
    }
    if (runs == 0) continue;
    longest = std::max(longest, cell.label.size());
    rows.push_back(
        {{"kind", std::string("cell")}, {"cell", cell.label}, {"seconds", sum / static_cast<double>(runs)}});
  }
  if (rows.empty()) {
    chart.left_out = "no run staged its data";
    return chart;
  }
  chart.spec = finish_spec(fill_spec(kStagingView, {{"colour", to_json(std::string(kPlainColour))}}), rows,
                           {}, {1, 420, label_margin(longest)});
  return chart;
}

}  // namespace trainyard::report
