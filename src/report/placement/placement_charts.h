#pragma once

#include <vector>

#include "report/chart.h"
#include "report/placement/placement_view.h"
#include "report/spec.h"

namespace trainyard::report {

// A row a device, a bar a job.
Chart make_gantt_chart(const PlacementView& view);
// A row a job: it waits, then it runs.
Chart make_jobs_chart(const PlacementView& view);
// Mean JCT and makespan of policies, where there are several.
Chart make_policies_chart(const PlacementView& view);

// Every chart, in the order of the page; those without data say why they are left out.
std::vector<Chart> make_placement_charts(const PlacementView& view);

// Shared by charts of jobs: what a decision is, with times in that unit and as text for tooltips.
Row decision_row(const PlacementView& view, const place::Placement& decision, const TimeUnit& unit);
// JSON of the tooltip for such rows.
extern const char* const kDecisionTooltip;

}  // namespace trainyard::report
