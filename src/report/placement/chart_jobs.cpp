#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "report/family_colours.h"
#include "report/placement/placement_charts.h"

namespace trainyard::report {
namespace {

constexpr std::size_t kMostRows = 1500, kMostNames = 60;

constexpr const char* kJobsView = R"json({
  "height": {"step": $step},
  "encoding": {
    "y": {"field": "row", "type": "nominal", "sort": null, "title": $jobs,
          "scale": {"paddingInner": $space, "paddingOuter": 0.1}, "axis": {"labels": $names, "labelOverlap": false}},
    "tooltip": $tooltip
  },
  "layer": [
    {
      "mark": {"type": "bar", "color": "@line"},
      "encoding": {
        "x": {"field": "arrival", "type": "quantitative", "title": $title,
              "scale": {"domain": [0, $span], "nice": false}, "axis": {"format": ",~r", "tickCount": 10}},
        "x2": {"field": "start"}
      }
    },
    {
      "mark": {"type": "bar"},
      "encoding": {"x": {"field": "start", "type": "quantitative"}, "x2": {"field": "end"}, "color": $colour}
    }
  ]
})json";

// Whole pixels: others give stripes.
int row_step(std::size_t rows) {
  if (rows <= 20) return 26;
  if (rows <= kMostNames) return 18;
  return rows <= 150 ? 5 : rows <= 300 ? 3 : rows <= 450 ? 2 : 1;
}

}  // namespace

Chart make_jobs_chart(const PlacementView& view) {
  Chart chart{"jobs", "From arrival to end",
              "A row a job, in the order of their starts. Grey: it waits; coloured: it runs.", "", ""};
  if (!view.outcome) {
    chart.left_out = fmt::format("jobs arrived in {} orders, and a plan shows one", view.orders);
    return chart;
  }
  std::vector<place::Decision> decisions = view.outcome->decisions;
  if (decisions.empty() || view.outcome->makespan_seconds <= 0) {
    chart.left_out = "no job was placed";
    return chart;
  }
  if (decisions.size() > kMostRows) {
    chart.left_out = fmt::format("{} jobs are too many for a row each", decisions.size());
    return chart;
  }
  std::stable_sort(
      decisions.begin(), decisions.end(),
      [](const place::Decision& a, const place::Decision& b) { return a.start_seconds < b.start_seconds; });
  const TimeUnit unit = unit_for(view.outcome->makespan_seconds);
  std::vector<Row> rows;
  std::map<std::string, int> seen;
  for (const place::Decision& decision : decisions) {
    // Rows are told apart by their names, jobs need not be.
    const std::string& name = view.job(decision).name;
    const int times = ++seen[name];
    rows.push_back(decision_row(view, decision, unit));
    rows.back().emplace_back("row", times == 1 ? name : fmt::format("{} ({})", name, times));
  }
  const bool named = rows.size() <= kMostNames;
  chart.spec = finish_spec(
      fill_spec(kJobsView, {{"step", fmt::format("{}", row_step(rows.size()))},
                            {"space", named ? "0.3" : "0"},
                            {"names", named ? "true" : "false"},
                            {"jobs", named ? "null" : to_json(fmt::format("{} jobs", rows.size()))},
                            {"title", to_json(fmt::format("{} from the start", unit.name))},
                            {"span", to_json(view.outcome->makespan_seconds / unit.seconds)},
                            {"colour", family_colours(families_of(view))},
                            {"tooltip", kDecisionTooltip}}),
      rows, {}, {});
  return chart;
}

}  // namespace trainyard::report
