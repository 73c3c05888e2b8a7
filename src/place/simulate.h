#pragma once

#include "place/policy.h"

namespace trainyard::place {

// A stretch of time in which a job had devices.
struct Stretch {
  std::vector<std::size_t> slots;
  double start_seconds = 0, end_seconds = 0;
};

struct Placement {
  std::size_t job = 0, slot = 0;  // where it ended, or the first of several
  std::string reason;
  double expected_end_seconds = 0;            // when it was decided
  double start_seconds = 0, end_seconds = 0;  // as it turned out, the first and the last
  bool out_of_memory = false;                 // likewise
  std::vector<Stretch> stretches{};           // more than one: it was stopped meanwhile

  double ran_seconds() const;     // in all stretches
  double device_seconds() const;  // likewise, of each device
};

// What a user got. Jobs without a user are those of "".
struct UserFigures {
  std::string user;
  std::size_t jobs = 0;
  double mean_completion_seconds = 0, device_seconds = 0;
  double mean_slowdown = 0;  // JCT over the seconds on the fastest device that is there
  // Mean JCT over that of the user alone on a cluster whose devices are slower by the number of users; above
  // 1 the user would do better with an equal share (finish-time fairness).
  double finish_time_fairness = 0;
};

// The result of a queue.
struct Outcome {
  std::vector<Placement> decisions;    // in the order of their first starts, or as they were made
  std::vector<std::size_t> unplaced;   // jobs that fit nowhere
  double mean_completion_seconds = 0;  // from arrival to end: JCT
  double median_completion_seconds = 0, p95_completion_seconds = 0;
  double makespan_seconds = 0;          // the last end
  double utilisation = 0;               // of all slots until the makespan
  double mean_slowdown = 0;             // of JCT over the run, which counts 10 s at least
  std::size_t out_of_memory = 0;        // jobs that ended by it
  std::size_t stops = 0;                // of jobs that went on later
  double energy_joules = 0, price = 0;  // where every device says watts, or a price; else 0
  std::vector<UserFigures> users;       // by name; none: jobs have no users
  double fairness = 0;                  // Jain's index of the users' shares; 0: no users
};

// Simulates a queue. Policies that place on arrival see the ends of jobs that are over and predictions of the
// others; those that decide at events see what waits and what is free. `seed` is for random policies.
Outcome simulate(const Problem& problem, const Policy& policy, std::uint64_t seed = 1);

// Fills in the figures of an outcome from its decisions. Those of users simulate each user alone by the same
// policy.
void summarise(const Problem& problem, const Policy& policy, Outcome& outcome);

}  // namespace trainyard::place
