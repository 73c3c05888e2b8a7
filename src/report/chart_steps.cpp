#include "report/chart.h"

#include "report/spec.h"
#include "report/text.h"
#include "stats/statistics.h"

namespace trainyard::report {

std::vector<TracePoint> trace_steps(const record::RunRecord& run, std::size_t most) {
  std::vector<double> seconds = run.warmup_step_seconds;
  seconds.insert(seconds.end(), run.step_seconds.begin(), run.step_seconds.end());
  std::set<std::size_t> outliers, kept;
  for (const std::int64_t step : run.statistics.outliers)
    outliers.insert(run.warmup_step_seconds.size() + static_cast<std::size_t>(step));
  const std::size_t stretch = std::max<std::size_t>(1, 2 * seconds.size() / std::max<std::size_t>(most, 2));
  for (std::size_t first = 0; first < seconds.size(); first += stretch) {
    const auto begin = seconds.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = seconds.begin() + static_cast<std::ptrdiff_t>(std::min(first + stretch, seconds.size()));
    const auto [low, high] = std::minmax_element(begin, end);
    kept.insert(static_cast<std::size_t>(low - seconds.begin()));
    kept.insert(static_cast<std::size_t>(high - seconds.begin()));
  }
  for (const std::size_t step : outliers)
    if (step < seconds.size()) kept.insert(step);
  std::vector<TracePoint> points;
  for (const std::size_t step : kept)
    points.push_back({static_cast<std::int64_t>(step) + 1, seconds[step], outliers.contains(step)});
  return points;
}

namespace {

constexpr std::size_t kMostPanels = 6, kPointsPerRun = 400;
constexpr double kMostMedians = 5;  // drawn no higher: the first steps would flatten all others
constexpr const char *kAsked = "warm-up, as asked", *kFound = "not steady yet, as found";

constexpr const char* kStepsView = R"json({
  "height": 150,
  "encoding": {
    "x": {"type": "quantitative", "title": "step", "scale": {"nice": false, "zero": false},
          "axis": {"grid": false, "tickCount": 5, "format": "d"}},
    "y": {"type": "quantitative", "title": "milliseconds", "scale": {"zero": true},
          "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 5}}
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'prefix'"}],
      "mark": {"type": "rect", "opacity": 1},
      "encoding": {
        "x": {"field": "from"}, "x2": {"field": "to"}, "y": null,
        "color": {"field": "prefix", "type": "nominal", "title": null, "sort": null,
                  "scale": {"domain": $prefixes, "range": $bands}},
        "tooltip": [{"field": "prefix"}, {"field": "steps", "title": "steps"}]
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'step'"}],
      "mark": {"type": "line", "strokeWidth": 1.1, "opacity": 0.85},
      "encoding": {
        "x": {"field": "step"}, "y": {"field": "shown"},
        "stroke": {"field": "run", "type": "nominal", "legend": null, "sort": null}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'step' && datum.outlier"}],
      "mark": {"type": "point", "size": 26, "filled": false, "strokeWidth": 1.3, "stroke": $alarm, "opacity": 0.9},
      "encoding": {
        "x": {"field": "step"}, "y": {"field": "shown"},
        "tooltip": [
          {"field": "run"}, {"field": "step", "type": "quantitative"},
          {"field": "milliseconds", "type": "quantitative", "format": ",.4~r", "title": "milliseconds (outlier)"}
        ]
      }
    }
  ]
})json";

bool has_steps(const CellView& cell) {
  return std::any_of(cell.done.begin(), cell.done.end(),
                     [](const record::RunRecord* run) { return !run->step_seconds.empty(); });
}

// If there are too many cells, chooses those whose runs, and then whose steps, agree least, because they show
// the most.
std::vector<const CellView*> chosen(const StudyView& view) {
  std::vector<const CellView*> cells;
  for (const CellView& cell : view.cells)
    if (has_steps(cell)) cells.push_back(&cell);
  if (cells.size() <= kMostPanels) return cells;
  std::stable_sort(cells.begin(), cells.end(), [](const CellView* a, const CellView* b) {
    return std::pair(a->throughput.run_to_run, a->throughput.jitter) >
           std::pair(b->throughput.run_to_run, b->throughput.jitter);
  });
  cells.resize(kMostPanels);
  return cells;
}

void add_prefix(std::vector<Row>& rows, const CellView& cell, const char* kind, std::int64_t from,
                std::int64_t to) {
  if (to <= from) return;
  rows.push_back({{"panel", cell.label},
                  {"kind", std::string("prefix")},
                  {"prefix", std::string(kind)},
                  {"from", static_cast<double>(from) + 0.5},
                  {"to", static_cast<double>(to) + 0.5},
                  {"steps", to - from}});
}

void add_cell(std::vector<Row>& rows, const CellView& cell) {
  std::int64_t warmup = 0, unsteady = 0;  // the longest of the cell's runs
  for (const record::RunRecord* run : cell.done) {
    warmup = std::max(warmup, static_cast<std::int64_t>(run->warmup_step_seconds.size()));
    unsteady = std::max(unsteady, run->statistics.unsteady_steps);
  }
  add_prefix(rows, cell, kAsked, 0, warmup);
  add_prefix(rows, cell, kFound, warmup, warmup + unsteady);
  for (const record::RunRecord* run : cell.done) {
    if (run->step_seconds.empty()) continue;
    const double most = kMostMedians * stats::quantile(run->step_seconds, 0.5);
    for (const TracePoint& point : trace_steps(*run, kPointsPerRun))
      rows.push_back({{"panel", cell.label},
                      {"kind", std::string("step")},
                      {"run", fmt::format("replicate {}", run->replicate)},
                      {"step", point.step},
                      {"milliseconds", point.seconds * 1000},
                      {"shown", std::min(point.seconds, most) * 1000},
                      {"outlier", point.outlier}});
  }
}

}  // namespace

Chart make_steps_chart(const StudyView& view) {
  Chart chart{"steps", "Step times", "", "", ""};
  const std::vector<const CellView*> cells = chosen(view);
  if (cells.empty()) {
    chart.left_out = "no run kept its step times";
    return chart;
  }
  const auto all = std::count_if(view.cells.begin(), view.cells.end(), has_steps);
  chart.explanation =
      "A line a run. Shaded: steps in no statistic. Circles: outliers, which stay in every statistic. "
      "What took more than five medians is drawn at that height.";
  if (all > std::ssize(cells))
    chart.explanation +=
        fmt::format(" {} of {} cells: those whose runs, or else steps, agree least.", cells.size(), all);
  std::vector<Row> rows;
  std::vector<std::string> panels;
  for (const CellView* cell : cells) {
    add_cell(rows, *cell);
    panels.push_back(cell->label);
  }
  std::vector<std::string> prefixes, bands;  // those that the steps have
  for (const auto& [prefix, band] : {std::pair(kAsked, "@warmup"), std::pair(kFound, "@unsteady")})
    if (std::any_of(rows.begin(), rows.end(), [&, name = record::Value(std::string(prefix))](const Row& row) {
          return row.size() > 2 && row[2].second == name;
        })) {
      prefixes.emplace_back(prefix);
      bands.emplace_back(band);
    }
  chart.spec = finish_spec(fill_spec(kStepsView, {{"alarm", to_json(std::string(kAlarmColour))},
                                                  {"prefixes", to_json(prefixes)},
                                                  {"bands", to_json(bands)}}),
                           rows, {"panel", panels, {"x", "y"}}, {cells.size() > 4 ? 3 : 2, 300, 72});
  return chart;
}

}  // namespace trainyard::report
