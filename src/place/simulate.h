#pragma once

#include "place/policy.h"

namespace trainyard::place {

struct Placement {
  std::size_t job = 0, slot = 0;
  std::string reason;
  double expected_end_seconds = 0;            // when it was decided
  double start_seconds = 0, end_seconds = 0;  // as it turned out
  bool out_of_memory = false;                 // likewise
};

// The result of a queue.
struct Outcome {
  std::vector<Placement> decisions;     // in the order they were made
  std::vector<std::size_t> unplaced;    // jobs that fit nowhere
  double mean_completion_seconds = 0;   // from arrival to end: JCT
  double makespan_seconds = 0;          // the last end
  double utilisation = 0;               // of all slots until the makespan
  std::size_t out_of_memory = 0;        // jobs that ended by it
  double energy_joules = 0, price = 0;  // where every device says watts, or a price; else 0
};

// Simulates a queue: jobs are placed when they arrive and run on their slot one after the other. A choice
// sees the ends of jobs that are over and predictions of the others. `seed` is for random policies.
Outcome simulate(const Problem& problem, const Policy& policy, std::uint64_t seed = 1);

// No schedule ends before this: all work on the fastest devices, spread evenly, and the longest job.
double makespan_bound_seconds(const Problem& problem);

}  // namespace trainyard::place
