#include <algorithm>

#include "report/prediction/eval_charts.h"
#include "report/prediction/run_rows.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

// The legend listens to the first layer that has colours alone.
constexpr const char* kOffView = R"json({
  "height": 380,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'line'"}],
      "mark": {"type": "rule", "strokeWidth": 1.1, "color": "@guide"},
      "encoding": {
        "y": {"field": "off", "type": "quantitative", "title": "(predicted - measured) / measured, %"},
        "strokeDash": {"condition": {"test": "datum.off == 0", "value": [1, 0]}, "value": [4, 4]}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run' && isValid(datum.low)"},
                    {"calculate": "100 * (datum.low / datum.measured - 1)", "as": "off_low"},
                    {"calculate": "100 * (datum.high / datum.measured - 1)", "as": "off_high"}],
      "params": [{"name": "shown", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}],
      "mark": {"type": "rule", "strokeWidth": 1},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative"},
        "y": {"field": "off_low", "type": "quantitative"}, "y2": {"field": "off_high"},
        "color": $colour, "opacity": {"condition": {"param": "shown", "value": 0.35}, "value": 0.02}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}, {"calculate": "100 * datum.error", "as": "off"}],
      "mark": {"type": "point", "size": 26},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative", "title": "measured, seconds",
              "scale": {"type": "log", "domain": $domain, "nice": false}, "axis": {"values": $ticks, "format": ",~r"}},
        "y": {"field": "off", "type": "quantitative"},
        "color": $colour, "opacity": {"condition": {"param": "shown", "value": 0.8}, "value": 0.05},
        "tooltip": $tooltip
      }
    }
  ]
})json";

}  // namespace

Chart make_off_chart(const EvalView& view) {
  Chart chart{"off", "How far off",
              "The same runs. Above zero: predicted to take longer than they did. Dashed: 10 %.", "", ""};
  const DrawnRuns drawn = drawn_runs(view);
  if (drawn.runs.empty()) {
    chart.left_out = "no run ended well";
    return chart;
  }
  double from = drawn.runs.front()->measured, to = from;
  std::vector<Row> rows;
  for (const predict::Judged* one : drawn.runs) {
    rows.push_back(run_row(view.run(*one), *one));
    from = std::min(from, one->measured);
    to = std::max(to, one->measured);
  }
  for (const double off : {-10.0, 0.0, 10.0}) rows.push_back({{"kind", std::string("line")}, {"off", off}});
  if (has_intervals(view))
    chart.explanation += " Vertical lines: 90 % intervals; one that does not cross zero did not hold.";
  chart.explanation += drawn.thinned;
  chart.spec =
      finish_spec(fill_spec(kOffView, {{"domain", to_json(std::vector<double>{from / 1.1, to * 1.1})},
                                       {"ticks", to_json(log_ticks(from / 1.1, to * 1.1))},
                                       {"colour", run_colours(view)},
                                       {"tooltip", kRunTooltip}}),
                  rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
