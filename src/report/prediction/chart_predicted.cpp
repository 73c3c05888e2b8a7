#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "report/family_colours.h"
#include "report/prediction/eval_charts.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

using predict::Judged;

// More are neither told apart nor drawn in good time.
constexpr std::size_t kMostPoints = 3000;
constexpr std::size_t kMostPanels = 6;

constexpr const char* kPredictedView = R"json({
  "height": $height,
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'line'"}],
      "mark": {"type": "line", "strokeWidth": 1.1, "color": "#4a545e"},
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
      "mark": {"type": "rule", "strokeWidth": 1},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative"},
        "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"},
        "color": $colour, "opacity": {"condition": {"param": "family", "value": 0.3}, "value": 0.02}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "params": [{"name": "family", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}],
      "mark": {"type": "point", "size": 26},
      "encoding": {
        "x": {"field": "measured", "type": "quantitative"},
        "y": {"field": "predicted", "type": "quantitative"},
        "color": $colour, "opacity": {"condition": {"param": "family", "value": 0.75}, "value": 0.05},
        "tooltip": [
          {"field": "network"}, {"field": "series", "title": "family"}, {"field": "batch", "type": "quantitative"},
          {"field": "optimizer"}, {"field": "device"}, {"field": "epochs", "type": "quantitative"}, {"field": "dataset"},
          {"field": "measured", "type": "quantitative", "title": "measured, s", "format": ",.4~r"},
          {"field": "predicted", "type": "quantitative", "title": "predicted, s", "format": ",.4~r"},
          {"field": "low", "type": "quantitative", "title": "90 % from, s", "format": ",.4~r"},
          {"field": "high", "type": "quantitative", "title": "90 % to, s", "format": ",.4~r"},
          {"field": "error", "type": "quantitative", "title": "error", "format": "+.1%"}
        ]
      }
    }
  ]
})json";

// Of a logarithmic axis: powers of ten, and within few of them also 2 and 5 times.
std::vector<double> log_ticks(double from, double to) {
  const bool few = std::log10(to / from) < 2;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(from))); power <= to; power *= 10)
    for (const double times : few ? std::vector<double>{1, 2, 5} : std::vector<double>{1})
      if (power * times >= from && power * times <= to) ticks.push_back(power * times);
  return ticks;
}

bool drawable(const Judged& one) { return !one.oom && one.measured > 0 && one.predicted > 0; }

Row row_of(const PredictedRun& run, const Judged& one, const std::string& panel) {
  Row row{{"kind", std::string("run")}, {"panel", panel},
          {"network", run.network},     {"series", family_name(run)},
          {"device", run.device},       {"batch", run.batch},
          {"optimizer", run.optimizer}, {"epochs", run.epochs},
          {"dataset", run.dataset},     {"measured", one.measured},
          {"predicted", one.predicted}, {"error", one.predicted / one.measured - 1}};
  if (has_interval(one)) row.insert(row.end(), {{"low", one.low}, {"high", one.high}});
  return row;
}

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
  Chart chart{
      "predicted", "Predicted against measured",
      "Seconds of runs that ended well. Solid: equal; dashed: 10 % off. A click on a family in the legend "
      "shows it alone.",
      "", ""};
  std::vector<const Judged*> drawn;
  std::set<std::string> devices;
  for (const Judged& one : view.judged)
    if (drawable(one)) {
      drawn.push_back(&one);
      devices.insert(view.run(one).device);
    }
  if (drawn.empty()) {
    chart.left_out = "no run ended well";
    return chart;
  }
  const bool panels = devices.size() > 1 && devices.size() <= kMostPanels;
  const std::size_t step = (drawn.size() + kMostPoints - 1) / kMostPoints;
  double from = drawn.front()->measured, to = from;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < drawn.size(); i += step) {
    const Judged& one = *drawn[i];
    const PredictedRun& run = view.run(one);
    rows.push_back(row_of(run, one, panels ? run.device : ""));
    from = std::min({from, one.measured, has_interval(one) ? one.low : one.predicted});
    to = std::max({to, one.measured, has_interval(one) ? one.high : one.predicted});
  }
  from /= 1.15;
  to *= 1.15;
  if (panels)
    for (const std::string& device : devices) add_lines(device, from, to, rows);
  else
    add_lines("", from, to, rows);
  if (has_intervals(view)) chart.explanation += " Vertical lines: 90 % intervals.";
  if (step > 1) chart.explanation += fmt::format(" One of {} of {} predictions.", step, drawn.size());
  std::vector<std::string> families = families_of(view);
  if (families.empty()) families = {"other"};
  const std::string filled = fill_spec(kPredictedView, {{"height", panels ? "330" : "520"},
                                                        {"domain", to_json(std::vector<double>{from, to})},
                                                        {"ticks", to_json(log_ticks(from, to))},
                                                        {"colour", family_colours(families)}});
  Panels faceted;
  if (panels) faceted = {"panel", {devices.begin(), devices.end()}, {}};
  chart.spec = finish_spec(filled, rows, faceted, {3, 330, 76});
  return chart;
}

}  // namespace trainyard::report
