#include <algorithm>

#include <fmt/core.h>

#include "report/placement/placement_charts.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

constexpr const char* kPoliciesView = R"json({
  "height": {"step": 26},
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'policy'"}],
      "mark": {"type": "bar", "height": 14, "cornerRadiusEnd": 3, "opacity": 0.82},
      "encoding": {
        "y": {"field": "policy", "type": "nominal", "sort": $policies, "title": null, "axis": {"labelOverlap": false}},
        "x": {"field": "time", "type": "quantitative", "title": null, "axis": {"format": ",~r", "tickCount": 6}},
        "color": {"condition": {"test": "datum.oom > 0", "value": $alarm}, "value": $plain},
        "tooltip": [
          {"field": "policy"}, {"field": "description"}, {"field": "text", "title": $unit},
          {"field": "oom", "type": "quantitative", "title": "jobs out of memory", "format": ".1~f"}
        ]
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'policy'"}],
      "mark": {"type": "text", "align": "left", "dx": 6},
      "encoding": {
        "y": {"field": "policy", "type": "nominal", "sort": $policies},
        "x": {"field": "time", "type": "quantitative"}, "text": {"field": "text"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'bound'"}],
      "mark": {"type": "rule", "strokeDash": [5, 4], "color": "@ink"},
      "encoding": {"x": {"field": "time", "type": "quantitative"}}
    }
  ]
})json";

}  // namespace

Chart make_policies_chart(const PlacementView& view) {
  Chart chart{
      "policies", "Policies compared",
      "JCT: from a job's arrival to its end. Dashed: no schedule ends before. Red: jobs ran out of memory.",
      "", ""};
  std::vector<PolicyFigures> policies = view.policies;
  std::erase_if(policies, [](const PolicyFigures& one) { return !one.left_out.empty(); });
  if (policies.empty()) {
    chart.left_out = "no policy could place the jobs";
    return chart;
  }
  std::stable_sort(policies.begin(), policies.end(), [](const PolicyFigures& a, const PolicyFigures& b) {
    return a.mean_completion_seconds < b.mean_completion_seconds;
  });
  double longest = 0;
  std::vector<std::string> names;
  for (const PolicyFigures& one : policies) {
    longest = std::max(longest, one.makespan_seconds);
    names.push_back(one.name);
  }
  const TimeUnit unit = unit_for(longest);
  const std::vector<std::string> panels{fmt::format("Mean JCT, {}", unit.name),
                                        fmt::format("Makespan, {}", unit.name)};
  std::vector<Row> rows;
  for (const PolicyFigures& one : policies)
    for (const bool makespan : {false, true}) {
      const double time = (makespan ? one.makespan_seconds : one.mean_completion_seconds) / unit.seconds;
      rows.push_back({{"kind", std::string("policy")},
                      {"panel", panels[makespan ? 1 : 0]},
                      {"policy", one.name},
                      {"description", one.description},
                      {"time", time},
                      {"text", fmt::format("{:.1f}", time)},
                      {"oom", one.out_of_memory}});
    }
  rows.push_back({{"kind", std::string("bound")},
                  {"panel", panels[1]},
                  {"time", place::makespan_bound_seconds(view.problem) / unit.seconds}});
  chart.spec = finish_spec(fill_spec(kPoliciesView, {{"policies", to_json(names)},
                                                     {"unit", to_json(std::string(unit.name))},
                                                     {"alarm", to_json(std::string(kAlarmColour))},
                                                     {"plain", to_json(std::string(kPlainColour))}}),
                           rows, {"panel", panels, {"x", "y"}}, {2, 420, 0, "policy"});
  return chart;
}

}  // namespace trainyard::report
