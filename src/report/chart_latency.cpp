#include "record/metric.h"
#include "report/chart.h"
#include "report/naming.h"
#include "report/spec.h"
#include "report/text.h"
#include "stats/statistics.h"

// Charts of inference: what a batch costs those who wait, and what it gains those who pay for the machine.
namespace trainyard::report {

namespace {

// A kind of latency, and the speed that it stands against. Runs of several kinds share no chart.
struct LatencyKind {
  const char *id, *title, *about, *speed_title;
  const char *latency, *tail, *speed;  // metrics of runs (record::find_metric)
};

constexpr LatencyKind kKinds[] = {
    {"latency", "Latency against throughput of forward passes", "of a forward pass", "images per second",
     "median_step_seconds", "p99_step_seconds", "images_per_second"},
    {"latency-tokens", "Latency against throughput of tokens", "of one more token of each sequence",
     "tokens per second", "median_token_seconds", "p99_token_seconds", "decode_tokens_per_second"},
    {"latency-requests", "Latency against throughput of requests",
     "of a request, its time in the queue included", "requests per second", "median_request_seconds",
     "p99_request_seconds", "requests_per_second"}};

// Settings that say how a network is run, and not which. What differs in another is other work: its points
// stand in a panel of their own, and on a front of their own.
constexpr std::array kHow = {"arrivals", "backend",   "batch",  "batch_sizes", "batch_wait", "device",
                             "devices",  "no_fusion", "nodes",  "precision",   "requests",   "seed",
                             "steps",    "threads",   "tuning", "warmup",      "gpus",       "strategy"};

constexpr std::size_t kMostLines = kPaletteColours, kMostLatencyPanels = 12;

const LatencyKind* kind_of(const record::RunRecord& run) {
  if (run.figures.contains("median_request_seconds")) return &kKinds[2];
  if (run.figures.contains("median_token_seconds")) return &kKinds[1];
  const auto mode = run.words.find("mode");
  return mode != run.words.end() && mode->second == "infer" ? &kKinds[0] : nullptr;
}

// A cell as a point: medians over its runs.
struct LatencyPoint {
  const CellView* cell = nullptr;
  double latency = 0, tail = 0, speed = 0;
  int runs = 0;
};

std::optional<LatencyPoint> point_of(const CellView& cell, const LatencyKind& kind) {
  std::vector<double> latency, tail, speed;
  for (const record::RunRecord* run : cell.done) {
    if (kind_of(*run) != &kind) continue;
    const auto a = record::measure(*run, {.name = kind.latency}),
               b = record::measure(*run, {.name = kind.tail}),
               c = record::measure(*run, {.name = kind.speed});
    if (!a || !b || !c) continue;
    latency.push_back(a->value);
    tail.push_back(b->value);
    speed.push_back(c->value);
  }
  if (latency.empty()) return std::nullopt;
  return LatencyPoint{&cell, stats::median(latency), stats::median(tail), stats::median(speed),
                      static_cast<int>(latency.size())};
}

// Returns true when no other point has as much throughput with as little latency, and more of either.
bool on_front(const LatencyPoint& point, const std::vector<const LatencyPoint*>& others) {
  return std::none_of(others.begin(), others.end(), [&](const LatencyPoint* other) {
    return other->speed >= point.speed && other->latency <= point.latency &&
           (other->speed > point.speed || other->latency < point.latency);
  });
}

constexpr const char* kLatencyView = R"json({
  "height": $height,
  "encoding": {
    "x": {"field": "speed", "type": "quantitative", "title": $title, "scale": {"zero": false, "padding": 24},
          "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 5}},
    "color": $colour
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'point'"}],
      "mark": {"type": "line", "strokeWidth": 1.8, "opacity": 0.7},
      "encoding": {
        "y": {"field": "latency", "type": "quantitative", "title": "milliseconds, logarithmic",
              "scale": {"type": "log", "nice": false, "padding": 16}, "axis": {"format": "~g", "tickCount": 6}},
        "order": {"field": "place", "type": "quantitative"}, "detail": {"field": "series"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'point'"}],
      "mark": {"type": "rule", "strokeWidth": 1.2, "opacity": 0.55},
      "encoding": {"y": {"field": "latency", "type": "quantitative"}, "y2": {"field": "tail"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'point'"}],
      "mark": {"type": "tick", "thickness": 1.6, "size": 11, "orient": "horizontal"},
      "encoding": {"y": {"field": "tail", "type": "quantitative"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'point' && datum.front"}],
      "mark": {"type": "point", "size": 190, "filled": false, "strokeWidth": 1.6, "aria": false},
      "encoding": {"y": {"field": "latency", "type": "quantitative"}, "color": {"value": "@ink"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'point'"}],
      "mark": {"type": "point", "size": 60, "filled": true, "opacity": 1},
      "encoding": {
        "y": {"field": "latency", "type": "quantitative"}, "shape": $shape,
        "tooltip": [
          {"field": "label", "title": "cell"},
          {"field": "latency", "type": "quantitative", "title": "median, ms", "format": ",.4~r"},
          {"field": "tail", "type": "quantitative", "title": "p99, ms", "format": ",.4~r"},
          {"field": "speed", "type": "quantitative", "title": $title, "format": ",.4~r"},
          {"field": "on_front", "title": "Pareto front"},
          {"field": "runs", "type": "quantitative", "title": "runs"}
        ]
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'point'"}],
      "mark": {"type": "text", "align": "left", "dx": 9, "dy": 9, "fontSize": 11},
      "encoding": {"y": {"field": "latency", "type": "quantitative"}, "text": {"field": "name"}, "color": {"value": "@soft"}}
    }
  ]
})json";

// Tells the points of one chart apart: a panel says what was run, a line how, a name where along the line.
struct LatencyAxes {
  std::vector<Axis> panels, lines;
  const Axis* named = nullptr;

  LatencyAxes(const StudyView& view, const std::vector<LatencyPoint>& points) {
    Cells cells;
    for (const LatencyPoint& point : points) cells.push_back(point.cell);
    const std::vector<Axis> varying = varying_axes(cells, view.axes);
    for (const char* name : {"batch", "arrivals"})
      if (named == nullptr)
        for (const Axis& axis : varying)
          if (axis.name == name) named = view.find_axis(name);
    for (const Axis& axis : varying) {
      if (named != nullptr && axis.name == named->name) continue;
      const bool how = std::find(kHow.begin(), kHow.end(), axis.name) != kHow.end();
      (how ? lines : panels).push_back(axis);
    }
  }

  std::int64_t place(const CellView& cell) const {
    const auto found = std::find(named->values.begin(), named->values.end(), cell.setting(named->name));
    return found - named->values.begin();
  }
};

std::vector<std::string> labels_of(const std::vector<LatencyPoint>& points, const std::vector<Axis>& axes) {
  std::vector<std::string> labels;
  for (const LatencyPoint& point : points)
    if (std::string text = label(*point.cell, axes);
        std::find(labels.begin(), labels.end(), text) == labels.end())
      labels.push_back(std::move(text));
  return labels;
}

std::vector<Row> rows_of(const std::vector<LatencyPoint>& points, const LatencyAxes& axes) {
  std::map<std::string, std::vector<const LatencyPoint*>> by_panel;
  for (const LatencyPoint& point : points) by_panel[label(*point.cell, axes.panels)].push_back(&point);
  std::vector<Row> rows;
  for (const LatencyPoint& point : points) {
    const CellView& cell = *point.cell;
    const std::string panel = label(cell, axes.panels);
    const bool front = on_front(point, by_panel[panel]);
    rows.push_back({{"kind", std::string("point")},
                    {"panel", panel},
                    {"series", label(cell, axes.lines)},
                    {"name", record::to_text(cell.setting(axes.named->name))},
                    {"place", axes.place(cell)},
                    {"label", cell.label},
                    {"latency", 1e3 * point.latency},
                    {"tail", 1e3 * point.tail},
                    {"speed", point.speed},
                    {"front", front},
                    {"on_front", std::string(front ? "yes" : "no")},
                    {"runs", std::int64_t{point.runs}}});
  }
  return rows;
}

std::string channel(const std::vector<std::string>& names, const std::vector<std::string>& range) {
  return fmt::format(
      R"({{"field": "series", "type": "nominal", "title": null, "scale": {{"domain": {}, "range": {}}}{}}})",
      to_json(names), to_json(range), names.size() < 2 ? R"(, "legend": null)" : "");
}

Chart make_latency_chart(const StudyView& view, const LatencyKind& kind,
                         const std::vector<LatencyPoint>& points) {
  Chart chart{kind.id, kind.title, "", "", ""};
  const LatencyAxes axes(view, points);
  if (axes.named == nullptr) {
    chart.left_out = "neither 'batch' nor 'arrivals' varies between its cells";
    return chart;
  }
  const std::vector<std::string> lines = labels_of(points, axes.lines),
                                 panels = labels_of(points, axes.panels);
  if (lines.size() > kMostLines || panels.size() > kMostLatencyPanels) {
    chart.left_out = fmt::format("{} lines in {} are too many to tell apart", lines.size(),
                                 count_text(std::ssize(panels), "panel"));
    return chart;
  }
  std::vector<std::string> tones, shapes{"circle", "square",        "triangle-up",   "diamond",
                                         "cross",  "triangle-down", "triangle-left", "triangle-right"};
  for (std::size_t i = 0; i < lines.size(); ++i) tones.push_back(fmt::format("@c{}", i + 1));
  shapes.resize(lines.size());
  chart.explanation = fmt::format(
      "Point: median {}, with its {} beside it. Tick above it: p99. Ring: on the Pareto front, as no other "
      "point {}is "
      "as quick with more throughput.",
      kind.about, spaced(axes.named->name), panels.size() > 1 ? "of its panel " : "");
  Panels shown;
  if (panels.size() > 1) shown = {"panel", panels, {"x", "y"}};
  chart.spec = finish_spec(fill_spec(kLatencyView, {{"height", panels.size() > 1 ? "260" : "320"},
                                                    {"title", to_json(std::string(kind.speed_title))},
                                                    {"colour", channel(lines, tones)},
                                                    {"shape", channel(lines, shapes)}}),
                           rows_of(points, axes), shown, {2, 360, 76});
  return chart;
}

}  // namespace

std::vector<Chart> make_latency_charts(const StudyView& view) {
  std::vector<Chart> charts;
  for (const LatencyKind& kind : kKinds) {
    std::vector<LatencyPoint> points;
    for (const CellView& cell : view.cells)
      if (const auto point = point_of(cell, kind)) points.push_back(*point);
    if (!points.empty()) charts.push_back(make_latency_chart(view, kind, points));
  }
  return charts;
}

}  // namespace trainyard::report
