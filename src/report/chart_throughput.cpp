#include <algorithm>

#include <fmt/core.h>

#include "report/chart.h"
#include "report/number_text.h"
#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

// The text comes first, as all cells have one: it gives the bars their order.
constexpr const char* kThroughputView = R"json({
  "height": {"step": 30},
  "encoding": {
    "y": {"field": "cell", "type": "nominal", "sort": null, "title": null, "axis": {"labelOverlap": false}}
  },
  "layer": [
    {
      "mark": {"type": "text", "align": "left", "dx": 8},
      "encoding": {
        "x": {"field": "end", "type": "quantitative", "title": $title, "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 6}},
        "text": {"field": "text"},
        "color": {"condition": {"test": "datum.kind == 'none'", "value": $alarm}, "value": "#3d4752"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 3, "opacity": 0.82},
      "encoding": {
        "x": {"field": "mean", "type": "quantitative"},
        "color": {"field": "series", "type": "nominal", "sort": $series, "legend": null},
        "tooltip": $tooltip
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "rule", "strokeWidth": 2, "color": "#1c2430"},
      "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}, "tooltip": $tooltip}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 34, "filled": true, "fill": "white", "stroke": "#1c2430",
               "strokeWidth": 1.1, "opacity": 0.9},
      "encoding": {
        "x": {"field": "value", "type": "quantitative"},
        "tooltip": [
          {"field": "label", "title": "cell"}, {"field": "run"}, {"field": "node"},
          {"field": "value", "type": "quantitative", "title": "images/s", "format": ",.4~r"}
        ]
      }
    }
  ]
})json";

constexpr const char* kTooltip = R"json([
  {"field": "label", "title": "cell"},
  {"field": "mean", "type": "quantitative", "title": "images/s, mean of runs", "format": ",.4~r"},
  {"field": "low", "type": "quantitative", "title": "95 % from", "format": ",.4~r"},
  {"field": "high", "type": "quantitative", "title": "95 % to", "format": ",.4~r"},
  {"field": "runs", "type": "quantitative", "title": "runs"}
])json";

// The axis whose values stand at the bars; the others make the panels.
std::size_t inner_axis(const std::vector<Axis>& axes) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::pair(axes[i].numeric, axes[i].values.size()) >=
        std::pair(axes[best].numeric, axes[best].values.size()))
      best = i;
  return best;
}

std::string why_none(const Cell& cell) {
  std::string text = "no result";
  if (!cell.failed.empty()) text += fmt::format(": {}", name(cell.failed.front()->status));
  return cell.failed.empty() ? text + " yet" : text;
}

void add_rows(std::vector<Row>& rows, const Cell& cell, const Row& head) {
  const auto add = [&](const char* kind, const Row& rest) {
    Row row = head;
    row.emplace_back("kind", std::string(kind));
    row.insert(row.end(), rest.begin(), rest.end());
    rows.push_back(std::move(row));
  };
  const Throughput& speed = cell.throughput;
  if (speed.runs == 0) {
    add("none", {{"text", why_none(cell)}, {"end", 0.0}});
    return;
  }
  Row summary{{"mean", speed.mean},
              {"runs", std::int64_t{speed.runs}},
              {"end", std::max(speed.max, speed.has_interval() ? speed.interval.high : speed.mean)},
              {"text", number_text(speed.mean)}};
  if (speed.has_interval())
    summary.insert(summary.end(), {{"low", speed.drawn_low()}, {"high", speed.interval.high}});
  add("cell", summary);
  for (const record::RunRecord* run : cell.done)
    if (run->images_per_second)
      add("run", {{"value", *run->images_per_second}, {"run", run->id}, {"node", run->node}});
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

Chart make_throughput_chart(const StudyView& view) {
  Chart chart{"throughput", "Throughput of every cell",
              "Images per second. Bar: mean over runs. Black line: 95 % interval between runs. Dots: the "
              "runs themselves.",
              "", ""};
  if (!view.has_throughput()) {
    chart.left_out = "no run has a throughput yet";
    return chart;
  }
  if (view.cells.size() > kMostCells) {
    chart.left_out = fmt::format("{} cells are too many for bars", view.cells.size());
    return chart;
  }
  std::vector<Axis> inner, outer = view.axes;
  if (!outer.empty()) {
    const auto at = outer.begin() + static_cast<std::ptrdiff_t>(inner_axis(outer));
    inner.push_back(*at);
    outer.erase(at);
  }
  const std::vector<Axis> colour(outer.begin(), outer.begin() + (outer.empty() ? 0 : 1));
  std::vector<Row> rows;
  std::vector<std::string> panels, series;
  std::size_t longest = 0;
  for (const Cell& cell : view.cells) {
    const std::string place = inner.empty() ? cell.label : label(cell, inner);
    const std::string panel = label(cell, outer), kind = label(cell, colour);
    add_once(panels, panel);
    add_once(series, kind);
    longest = std::max(longest, place.size());
    add_rows(rows, cell, {{"cell", place}, {"panel", panel}, {"series", kind}, {"label", cell.label}});
  }
  const std::string filled = fill_spec(
      kThroughputView, {{"title", panels.size() > 1 ? "null" : to_json(std::string("images per second"))},
                        {"series", to_json(series)},
                        {"tooltip", kTooltip},
                        {"alarm", to_json(std::string(kAlarmColour))}});
  Panels faceted;
  if (panels.size() > 1) faceted = {"panel", panels, {"y"}};
  const int columns = view.cells.size() > 12 ? 2 : 1;
  chart.spec = finish_spec(filled, rows, faceted, {columns, 420, label_margin(longest)});
  return chart;
}

}  // namespace trainyard::report
