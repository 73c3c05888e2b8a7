#pragma once

#include "place/bounds.h"
#include "place/simulate.h"
#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {

// The results of a policy; they are means if jobs arrived in several orders.
struct PolicyFigures {
  std::string name, description;
  std::string left_out{};  // why, where it cannot be
  double mean_completion_seconds = 0, makespan_seconds = 0, utilisation = 0, out_of_memory = 0;
  double median_completion_seconds = 0, p95_completion_seconds = 0, mean_slowdown = 0;
  double fairness = 0, stops = 0;  // fairness 0: jobs have no users
};

// All that the page of a placement sees.
struct PlacementView {
  std::string title{};  // what the jobs are from
  place::Problem problem{};
  place::Bounds bounds{};
  std::vector<std::string> families{};  // of each job's network; empty text: not known
  std::vector<PolicyFigures> policies{};
  std::string shown{};                      // the policy of `outcome`
  std::optional<place::Outcome> outcome{};  // nothing: jobs arrived in several orders
  int orders = 0;                           // random orders of arrival; 0: as they are
  double error = 0;                         // that predictions were given

  const place::Job& job(const place::Placement& decision) const { return problem.jobs[decision.job]; }
  const place::Slot& slot(const place::Placement& decision) const { return problem.slots[decision.slot]; }
  std::string family(std::size_t job) const;  // "other": not known
  const PolicyFigures* shown_policy() const;  // null: none
};

// Families of jobs by name; one, "other", where none is known.
std::vector<std::string> families_of(const PlacementView& view);

// Returns the policy to show of several: fewest jobs out of memory, then the least mean JCT. Null: all are
// left out.
const PolicyFigures* best_policy(const std::vector<PolicyFigures>& policies);

// TimeUnit is the unit in which people read times up to that.
struct TimeUnit {
  const char* name;  // "hours"
  double seconds;
};
TimeUnit unit_for(double longest_seconds);

// Draws a row for each device and a bar for each job.
Chart make_gantt_chart(const PlacementView& view);
// Draws a row a job: it waits, then it runs.
Chart make_jobs_chart(const PlacementView& view);
// Draws how many jobs wait and how many devices work, over time.
Chart make_queue_chart(const PlacementView& view);
// Mean JCT and makespan of policies, where there are several.
Chart make_policies_chart(const PlacementView& view);

// Draws every chart, in the order of the page; those without data say why they are left out.
std::vector<Chart> make_placement_charts(const PlacementView& view);

// Shared by charts of jobs: a stretch of a decision on one of its slots, with times in that unit and as text
// for tooltips.
Row decision_row(const PlacementView& view, const place::Placement& decision, std::size_t stretch,
                 std::size_t slot, const TimeUnit& unit);
// This text is JSON of the tooltip for such rows.
extern const char* const kDecisionTooltip;

}  // namespace trainyard::report
