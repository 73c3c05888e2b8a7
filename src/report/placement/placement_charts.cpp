#include "report/placement/placement_charts.h"

#include "base/units.h"
#include "report/family_colours.h"

namespace trainyard::report {

const char* const kDecisionTooltip = R"json([
  {"field": "job"}, {"field": "series", "title": "family"}, {"field": "slot", "title": "device"},
  {"field": "arrived", "title": "arrived after"}, {"field": "waited"}, {"field": "ran"},
  {"field": "ended", "title": "ended after"}, {"field": "result", "title": "end"}, {"field": "reason", "title": "why there"}
])json";

Row decision_row(const PlacementView& view, const place::Decision& decision, const TimeUnit& unit) {
  const place::Job& job = view.job(decision);
  const double start = decision.start_seconds, end = decision.end_seconds;
  return {{"job", job.name},
          {"series", view.family(decision.job)},
          {"slot", view.slot(decision).name},
          {"arrival", job.arrival_seconds / unit.seconds},
          {"start", start / unit.seconds},
          {"end", end / unit.seconds},
          {"arrived", format_seconds(job.arrival_seconds)},
          {"waited", format_seconds(start - job.arrival_seconds)},
          {"ran", format_seconds(end - start)},
          {"ended", format_seconds(end)},
          {"result", std::string(decision.out_of_memory ? "out of memory" : "well")},
          {"oom", decision.out_of_memory},
          {"reason", decision.reason}};
}

std::vector<Chart> make_placement_charts(const PlacementView& view) {
  std::vector<Chart> charts{make_gantt_chart(view), make_jobs_chart(view)};
  // One policy is compared with none; that need not be said.
  if (view.policies.size() > 1) charts.insert(charts.begin(), make_policies_chart(view));
  return charts;
}

}  // namespace trainyard::report
