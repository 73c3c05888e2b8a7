#pragma once

#include "place/least_completion.h"

namespace trainyard::place {

// Returns the time at which the last slot has done its jobs.
double last_end(const PlanInput& input, const Plan& plan);

// Returns a plan in which no move of a job away from the slot that ends last, and no exchange of it, ends
// earlier. Each slot runs its shortest first, which ends no later. REQUIRES: each job fits on some slot.
Plan search_least_makespan(const PlanInput& input);

// Puts a job where it ends first. REQUIRES: it fits on some slot.
void insert_for_makespan(const PlanInput& input, Plan& plan, std::size_t job);

}  // namespace trainyard::place
