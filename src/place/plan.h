#pragma once

#include "base/standard.h"

namespace trainyard::place {

// PlanInput is what remains to be planned: jobs of one device each, on slots that become free.
struct PlanInput {
  std::size_t jobs = 0;
  std::vector<double> free_seconds;                                    // of each slot
  std::vector<std::size_t> kinds;                                      // likewise
  std::function<double(std::size_t job, std::size_t slot)> seconds{};  // infinite: it does not fit there

  std::size_t slots() const { return free_seconds.size(); }
};

// A plan is the jobs of each slot in the order of their starts.
using Plan = std::vector<std::vector<std::size_t>>;

// Returns the sum of the ends of all jobs.
double total_completion(const PlanInput& input, const Plan& plan);

// Returns the plan with the least sum of ends (Bruno, Coffman, Sethi 1974: a job that is k-th from the end of
// a slot adds k times its seconds, so that jobs are assigned to such positions). Takes time with the cube of
// the jobs. REQUIRES: each job fits on some slot.
Plan assign_least_completion(const PlanInput& input);

// Returns a plan that no move of one job makes better, in time nearly proportional to jobs x slots.
Plan search_least_completion(const PlanInput& input);

// Puts a job into the plan where the sum of ends grows least. REQUIRES: it fits on some slot.
void insert_for_completion(const PlanInput& input, Plan& plan, std::size_t job);

// Returns the time at which the last slot has done its jobs.
double last_end(const PlanInput& input, const Plan& plan);

// Returns a plan in which no move of a job away from the slot that ends last, and no exchange of it, ends
// earlier. Each slot runs its shortest first, which ends no later. REQUIRES: each job fits on some slot.
Plan search_least_makespan(const PlanInput& input);

// Puts a job where it ends first. REQUIRES: it fits on some slot.
void insert_for_makespan(const PlanInput& input, Plan& plan, std::size_t job);

}  // namespace trainyard::place
