#include "report/chart.h"
#include "report/naming.h"
#include "report/spec.h"
#include "report/text.h"

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

// Returns the cores as the run understood the setting; otherwise as it was asked.
double cores_asked(const CellView& cell, const record::RunRecord& run) {
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
  for (const CellView& cell : view.cells)
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
    std::vector<std::pair<const CellView*, const record::RunRecord*>> runs;
    double seconds = 0;  // mean
  };
  Cells cells;
  for (const CellView& cell : view.cells)
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
  for (const CellView* cell : cells) {
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
