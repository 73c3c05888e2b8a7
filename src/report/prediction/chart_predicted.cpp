#include "report/prediction/eval_charts.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

using predict::Judged;

constexpr std::size_t kMostPanels = 6;

// The legend listens to the first layer that has colours alone.
constexpr const char* kPredictedView = R"json({
  "height": $height,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'line'"}],
      "mark": {"type": "line", "strokeWidth": 1.1, "color": "@guide"},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative", "title": "measured, seconds",
              "scale": {"type": "log", "domain": $domain, "nice": false}, "axis": {"values": $ticks, "format": ",~r"}},
        "y": {"field": "predicted", "type": "quantitative", "title": "predicted, seconds",
              "scale": {"type": "log", "domain": $domain, "nice": false}, "axis": {"values": $ticks, "format": ",~r"}},
        "strokeDash": {"field": "line", "type": "nominal", "legend": null,
                       "scale": {"domain": ["equal", "10 % more", "10 % less"], "range": [[1, 0], [4, 4], [4, 4]]}}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run' && isValid(datum.low)"}],
      "params": [{"name": "family", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}],
      "mark": {"type": "rule", "strokeWidth": 1},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative"},
        "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"},
        "color": $colour, "opacity": {"condition": {"param": "family", "value": 0.3}, "value": 0.02}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 26},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative"},
        "y": {"field": "predicted", "type": "quantitative"},
        "color": $colour, "opacity": {"condition": {"param": "family", "value": 0.75}, "value": 0.05},
        "tooltip": $tooltip
      }
    }
  ]
})json";

void add_lines(const std::string& panel, double from, double to, std::vector<Row>& rows) {
  for (const auto& [line, factor] :
       {std::pair("equal", 1.0), std::pair("10 % more", 1.1), std::pair("10 % less", 0.9)}) {
    // Both ends stay within the square.
    const double first = factor < 1 ? from / factor : from, last = factor > 1 ? to / factor : to;
    for (const double measured : {first, last})
      rows.push_back({{"kind", std::string("line")},
                      {"panel", panel},
                      {"line", std::string(line)},
                      {"measured", measured},
                      {"predicted", measured * factor}});
  }
}

}  // namespace

Chart make_predicted_chart(const EvalView& view) {
  Chart chart{"predicted", "Predicted against measured",
              "Seconds of runs that ended well. Solid: equal; dashed: 10 % off.", "", ""};
  const DrawnRuns drawn = drawn_runs(view);
  if (drawn.runs.empty()) {
    chart.left_out = "no run ended well";
    return chart;
  }
  std::set<std::string> devices;
  for (const Judged* one : drawn.runs) devices.insert(view.run(*one).device);
  const bool panels = devices.size() > 1 && devices.size() <= kMostPanels;
  double from = drawn.runs.front()->measured, to = from;
  std::vector<Row> rows;
  for (const Judged* one : drawn.runs) {
    const PredictedRun& run = view.run(*one);
    rows.push_back(run_row(run, *one));
    rows.back().emplace_back("panel", panels ? run.device : "");
    from = std::min({from, one->measured, has_interval(*one) ? one->low : one->predicted});
    to = std::max({to, one->measured, has_interval(*one) ? one->high : one->predicted});
  }
  from /= 1.15;
  to *= 1.15;
  if (panels)
    for (const std::string& device : devices) add_lines(device, from, to, rows);
  else
    add_lines("", from, to, rows);
  if (has_intervals(view)) chart.explanation += " Vertical lines: 90 % intervals.";
  if (families_of(view).size() > 1) chart.explanation += " A click on a family in the legend shows it alone.";
  chart.explanation += drawn.thinned;
  const std::string filled = fill_spec(kPredictedView, {{"height", panels ? "330" : "520"},
                                                        {"domain", to_json(std::vector<double>{from, to})},
                                                        {"ticks", to_json(log_ticks(from, to))},
                                                        {"tooltip", kRunTooltip},
                                                        {"colour", run_colours(view)}});
  Panels faceted;
  if (panels) faceted = {"panel", {devices.begin(), devices.end()}, {}};
  chart.spec = finish_spec(filled, rows, faceted, {3, 295, 76});
  return chart;
}

}  // namespace trainyard::report
