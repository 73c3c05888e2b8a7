#include "report/placement/placement_charts.h"

namespace trainyard::report {

namespace {

constexpr std::size_t kMostSteps = 2000;

constexpr const char* kQueueView = R"json({
  "height": 180,
  "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
  "encoding": {
    "x": {"field": "time", "type": "quantitative", "title": $title,
          "scale": {"domain": [0, $span], "nice": false}, "axis": {"format": ",~r", "tickCount": 10}},
    "y": {"field": "count", "type": "quantitative", "title": null, "axis": {"tickMinStep": 1}},
    "color": {"field": "series", "type": "nominal", "title": null, "sort": ["jobs that wait", "devices that work"]},
    "tooltip": [{"field": "series"}, {"field": "count", "type": "quantitative"},
                {"field": "time", "type": "quantitative", "title": $title, "format": ",.4~r"}]
  }
})json";

struct Level {
  int waiting = 0, working = 0;
};

// How both change, by time.
std::map<double, Level> changes_of(const PlacementView& view) {
  std::map<double, Level> changes;
  for (const place::Placement& decision : view.outcome->decisions) {
    double from = view.job(decision).arrival_seconds;
    for (const place::Stretch& stretch : decision.stretches) {
      const int devices = static_cast<int>(stretch.slots.size());
      ++changes[from].waiting;
      --changes[stretch.start_seconds].waiting;
      changes[stretch.start_seconds].working += devices;
      changes[stretch.end_seconds].working -= devices;
      from = stretch.end_seconds;
    }
  }
  return changes;
}

}  // namespace

Chart make_queue_chart(const PlacementView& view) {
  Chart chart{"queue", "The queue over time", "Jobs that have arrived and wait, and devices that work.", "",
              ""};
  if (!view.outcome) {
    chart.left_out = fmt::format("jobs arrived in {} orders, and a plan shows one", view.orders);
    return chart;
  }
  if (view.outcome->decisions.empty() || view.outcome->makespan_seconds <= 0) {
    chart.left_out = "no job was placed";
    return chart;
  }
  const TimeUnit unit = unit_for(view.outcome->makespan_seconds);
  const std::map<double, Level> changes = changes_of(view);
  // Of more steps than can be seen every so many-th is drawn, and the last.
  const std::size_t stride = changes.size() / kMostSteps + 1;
  std::vector<Row> rows;
  Level level;
  std::size_t step = 0;
  for (const auto& [seconds, change] : changes) {
    level.waiting += change.waiting;
    level.working += change.working;
    if (++step % stride != 0 && step != 1 && step != changes.size()) continue;
    const auto add = [&](const char* series, int count) {
      rows.push_back({{"series", std::string(series)},
                      {"time", seconds / unit.seconds},
                      {"count", static_cast<std::int64_t>(count)}});
    };
    add("jobs that wait", level.waiting);
    add("devices that work", level.working);
  }
  chart.spec =
      finish_spec(fill_spec(kQueueView, {{"title", to_json(fmt::format("{} from the start", unit.name))},
                                         {"span", to_json(view.outcome->makespan_seconds / unit.seconds)}}),
                  rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
