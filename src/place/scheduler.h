#pragma once

#include "place/live_queue.h"

namespace trainyard::place {

struct Start {
  std::size_t job = 0;
  std::vector<std::size_t> slots;  // as many as the job takes, all of one kind
  std::string reason;              // one line
};

struct Decision {
  std::vector<std::size_t> stops;  // jobs that run; they wait once more
  std::vector<Start> starts;       // on slots that are free then
};

// A Scheduler decides anew whenever jobs have arrived or ended. It is asked again after each of its decisions
// came true; it may remember what it planned.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual Decision decide(const LiveQueue& queue, double now) = 0;
};

// The order in which waiting jobs get devices that become free.
enum class Turn {
  arrival,
  shortest,
  smallest,  // seconds times devices
  largest,
  least_served,  // the user who got the fewest seconds of devices, then by arrival
};

// Gives free devices to waiting jobs in turn. Who wants more devices than are free has them reserved for the
// time when they are expected to be; others may use them until then.
std::unique_ptr<Scheduler> make_list_scheduler(const Problem& problem, Turn turn);

// Plans all waiting jobs for the least sum of ends, or for the least last end, and plans again when others
// arrive. `stops`: a job that runs is stopped for one that gains more by it. Where jobs take several devices
// they get them in turn, without a plan.
enum class Goal { completion, makespan };
std::unique_ptr<Scheduler> make_plan_scheduler(const Problem& problem, Goal goal, bool stops);

// Keeps to a plan: a slot takes the first of its jobs that has arrived.
std::unique_ptr<Scheduler> make_fixed_scheduler(std::vector<std::vector<std::size_t>> plan);

}  // namespace trainyard::place
