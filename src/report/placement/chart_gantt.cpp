#include <algorithm>

#include <fmt/core.h>

#include "report/family_colours.h"
#include "report/number_text.h"
#include "report/placement/placement_charts.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr std::size_t kMostBars = 10000;

// Names stand in bars that are wide enough for them, whatever the page's width.
constexpr const char* kGanttView = R"json({
  "height": {"step": $step},
  "encoding": {
    "y": {"field": "slot", "type": "nominal", "title": null, "scale": {"domain": $slots, "paddingInner": 0.22, "paddingOuter": 0.12},
          "axis": {"labelOverlap": false}}
  },
  "layer": [
    {
      "params": [{"name": "zoom", "bind": "scales",
                  "select": {"type": "interval", "encodings": ["x"], "zoom": "wheel![event.ctrlKey]"}}],
      "mark": {"type": "bar", "stroke": "@card", "strokeWidth": $gap, "clip": true},
      "encoding": {
        "x": {"field": "start", "type": "quantitative", "title": $title,
              "scale": {"domain": [0, $span], "nice": false}, "axis": {"format": ",~r", "tickCount": 10}},
        "x2": {"field": "end"}, "color": $colour, "tooltip": $tooltip
      }
    },
    {
      "transform": [{"filter": "(datum.end - datum.start) / $span * width > 6.4 * length(datum.job) + 12"},
                    {"calculate": "(datum.start + datum.end) / 2", "as": "middle"}],
      "mark": {"type": "text", "fontSize": 11, "clip": true},
      "encoding": {
        "x": {"field": "middle", "type": "quantitative"}, "text": {"field": "job"},
        "color": {"field": "ink", "type": "nominal", "scale": null}, "tooltip": $tooltip
      }
    },
    {
      "transform": [{"filter": "datum.oom"}],
      "mark": {"type": "point", "shape": "cross", "angle": 45, "size": 70, "color": $alarm, "opacity": 1, "clip": true},
      "encoding": {"x": {"field": "end", "type": "quantitative"}, "tooltip": $tooltip}
    }
  ]
})json";

int row_height(std::size_t rows) { return rows <= 4 ? 64 : rows <= 10 ? 40 : rows <= 30 ? 26 : 16; }

}  // namespace

Chart make_gantt_chart(const PlacementView& view) {
  Chart chart{"gantt", "Who runs where, and when", "", "", ""};
  if (!view.outcome) {
    chart.left_out = fmt::format("jobs arrived in {} orders, and a plan shows one", view.orders);
    return chart;
  }
  const place::Outcome& outcome = *view.outcome;
  if (outcome.decisions.empty() || outcome.makespan_seconds <= 0) {
    chart.left_out = "no job was placed";
    return chart;
  }
  if (outcome.decisions.size() > kMostBars) {
    chart.left_out = fmt::format("{} jobs are too many for bars", outcome.decisions.size());
    return chart;
  }
  const TimeUnit unit = unit_for(outcome.makespan_seconds);
  const std::vector<std::string> families = families_of(view);
  std::vector<Row> rows;
  for (const place::Decision& decision : outcome.decisions) {
    rows.push_back(decision_row(view, decision, unit));
    rows.back().emplace_back("ink", family_ink(families, view.family(decision.job)));
  }
  std::vector<std::string> slots;
  for (const place::Slot& slot : view.problem.slots)
    if (std::find(slots.begin(), slots.end(), slot.name) == slots.end()) slots.push_back(slot.name);
  chart.explanation = fmt::format(
      "By {}. A row a device, a bar a job, coloured by family. Drag to move, Ctrl and wheel to zoom, double "
      "click "
      "to see all.",
      view.shown);
  if (outcome.out_of_memory > 0) chart.explanation += " Crosses: out of memory.";
  chart.spec =
      finish_spec(fill_spec(kGanttView, {{"step", fmt::format("{}", row_height(slots.size()))},
                                         {"slots", to_json(slots)},
                                         {"gap", outcome.decisions.size() > 60 ? "0.2" : "1.2"},
                                         {"title", to_json(fmt::format("{} from the start", unit.name))},
                                         {"span", to_json(outcome.makespan_seconds / unit.seconds)},
                                         {"colour", family_colours(families)},
                                         {"tooltip", kDecisionTooltip},
                                         {"alarm", to_json(std::string(kAlarmColour))}}),
                  rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
