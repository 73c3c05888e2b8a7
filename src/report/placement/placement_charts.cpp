#include "report/placement/placement_charts.h"

#include "base/text.h"
#include "report/text.h"

namespace trainyard::report {

std::string PlacementView::family(std::size_t job) const {
  return job < families.size() && !families[job].empty() ? families[job] : "other";
}

const PolicyFigures* PlacementView::shown_policy() const {
  for (const PolicyFigures& policy : policies)
    if (policy.name == shown) return &policy;
  return nullptr;
}

std::vector<std::string> families_of(const PlacementView& view) {
  std::set<std::string> names;
  for (std::size_t job = 0; job < view.problem.jobs.size(); ++job) names.insert(view.family(job));
  return {names.begin(), names.end()};
}

const PolicyFigures* best_policy(const std::vector<PolicyFigures>& policies) {
  const PolicyFigures* best = nullptr;
  const auto merit = [](const PolicyFigures& one) {
    return std::tuple(one.out_of_memory, one.mean_completion_seconds);
  };
  for (const PolicyFigures& one : policies)
    if (one.left_out.empty() && (best == nullptr || merit(one) < merit(*best))) best = &one;
  return best;
}

TimeUnit unit_for(double longest_seconds) {
  if (longest_seconds >= 7200) return {"hours", 3600};
  return longest_seconds >= 180 ? TimeUnit{"minutes", 60} : TimeUnit{"seconds", 1};
}

const char* const kDecisionTooltip = R"json([
  {"field": "job"}, {"field": "user"}, {"field": "series", "title": "family"}, {"field": "slot", "title": "device"},
  {"field": "arrived", "title": "arrived after"}, {"field": "waited"}, {"field": "ran"},
  {"field": "ended", "title": "ended after"}, {"field": "result", "title": "end"}, {"field": "reason", "title": "why there"}
])json";

Row decision_row(const PlacementView& view, const place::Placement& decision, std::size_t stretch,
                 std::size_t slot, const TimeUnit& unit) {
  const place::Job& job = view.job(decision);
  const place::Stretch& shown = decision.stretches[stretch];
  const bool stopped = stretch + 1 < decision.stretches.size();
  const double waits_from = stretch == 0 ? job.arrival_seconds : decision.stretches[stretch - 1].end_seconds;
  return {{"job", job.name},
          {"user", job.user.empty() ? "-" : job.user},
          {"series", view.family(decision.job)},
          {"slot", view.problem.slots[slot].name},
          {"waits_from", waits_from / unit.seconds},
          {"start", shown.start_seconds / unit.seconds},
          {"end", shown.end_seconds / unit.seconds},
          {"arrived", format_seconds(job.arrival_seconds)},
          {"waited", format_seconds(shown.start_seconds - waits_from)},
          {"ran", format_seconds(shown.end_seconds - shown.start_seconds)},
          {"ended", format_seconds(shown.end_seconds)},
          {"result", std::string(stopped                  ? "stopped for another"
                                 : decision.out_of_memory ? "out of memory"
                                                          : "well")},
          {"oom", decision.out_of_memory && !stopped},
          {"stopped", stopped},
          {"reason", decision.reason}};
}

std::vector<Chart> make_placement_charts(const PlacementView& view) {
  std::vector<Chart> charts{make_gantt_chart(view), make_jobs_chart(view), make_queue_chart(view)};
  // One policy is compared with none; that need not be said.
  if (view.policies.size() > 1) charts.insert(charts.begin(), make_policies_chart(view));
  return charts;
}

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
    },
    {
      "transform": [{"filter": "datum.stopped"}],
      "mark": {"type": "point", "shape": "triangle-left", "filled": true, "size": 60, "color": "@ink", "opacity": 1, "clip": true},
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
  for (const place::Placement& decision : outcome.decisions)
    for (std::size_t stretch = 0; stretch < decision.stretches.size(); ++stretch)
      for (const std::size_t slot : decision.stretches[stretch].slots) {
        rows.push_back(decision_row(view, decision, stretch, slot, unit));
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
  if (outcome.stops > 0) chart.explanation += " Triangles: stopped for another job.";
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
        "x": {"field": "waits_from", "type": "quantitative", "title": $title,
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
  std::vector<place::Placement> decisions = view.outcome->decisions;
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
      [](const place::Placement& a, const place::Placement& b) { return a.start_seconds < b.start_seconds; });
  const TimeUnit unit = unit_for(view.outcome->makespan_seconds);
  std::vector<Row> rows;
  std::map<std::string, int> seen;
  for (const place::Placement& decision : decisions) {
    // Rows are told apart by their names, jobs need not be.
    const std::string& name = view.job(decision).name;
    const int times = ++seen[name];
    for (std::size_t stretch = 0; stretch < decision.stretches.size(); ++stretch) {
      rows.push_back(decision_row(view, decision, stretch, decision.stretches[stretch].slots.front(), unit));
      rows.back().emplace_back("row", times == 1 ? name : fmt::format("{} ({})", name, times));
    }
  }
  const bool named = decisions.size() <= kMostNames;
  chart.spec = finish_spec(
      fill_spec(kJobsView, {{"step", fmt::format("{}", row_step(decisions.size()))},
                            {"space", named ? "0.3" : "0"},
                            {"names", named ? "true" : "false"},
                            {"jobs", named ? "null" : to_json(fmt::format("{} jobs", decisions.size()))},
                            {"title", to_json(fmt::format("{} from the start", unit.name))},
                            {"span", to_json(view.outcome->makespan_seconds / unit.seconds)},
                            {"colour", family_colours(families_of(view))},
                            {"tooltip", kDecisionTooltip}}),
      rows, {}, {});
  return chart;
}

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
      "JCT: from a job's arrival to its end. Dashed: no schedule goes below. Red: jobs ran out of memory.",
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
  for (const bool makespan : {false, true}) {
    const double bound = makespan ? view.bounds.makespan_seconds : view.bounds.mean_completion_seconds;
    rows.push_back({{"kind", std::string("bound")},
                    {"panel", panels[makespan ? 1 : 0]},
                    {"time", bound / unit.seconds}});
  }
  chart.spec = finish_spec(fill_spec(kPoliciesView, {{"policies", to_json(names)},
                                                     {"unit", to_json(std::string(unit.name))},
                                                     {"alarm", to_json(std::string(kAlarmColour))},
                                                     {"plain", to_json(std::string(kPlainColour))}}),
                           rows, {"panel", panels, {"x", "y"}}, {2, 420, 0, "policy"});
  return chart;
}

}  // namespace trainyard::report
