#pragma once

#include "place/problem.h"

namespace trainyard::place {

// LiveQueue is what is known of jobs while they wait and run: who has arrived, where each runs, and when it
// is expected to end. The simulator and what starts real jobs keep one; schedulers read it.
class LiveQueue {
 public:
  explicit LiveQueue(const Problem& problem);

  // What happens to a job. REQUIRES: in an order that a job can have.
  void arrive(std::size_t job);
  void start(std::size_t job, const std::vector<std::size_t>& slots, double now);
  void end(std::size_t job, double now);
  // `done`: the share of its work that need not be done again. It waits once more.
  void stop(std::size_t job, double now, double done);

  const Problem& problem() const { return problem_; }
  const std::vector<std::size_t>& waiting() const { return waiting_; }  // in the order of their arrival
  const std::set<std::size_t>& running() const { return running_; }
  const std::vector<std::size_t>& slots_of(std::size_t job) const { return live_[job].slots; }
  bool is_free(std::size_t slot) const { return !occupant_[slot]; }
  const std::optional<std::size_t>& occupant(std::size_t slot) const { return occupant_[slot]; }
  double idle_since(std::size_t slot) const { return idle_since_[slot]; }  // REQUIRES: it is free
  double started_at(std::size_t job) const { return live_[job].start_seconds; }
  bool was_stopped(std::size_t job) const { return live_[job].stopped; }

  // All by predictions, infinite where it does not fit.
  double seconds_left(std::size_t job, std::size_t kind) const;  // from its next start
  double expected_end(std::size_t job, double now) const;        // REQUIRES: it runs
  double expected_free(std::size_t slot, double now) const;      // now: it is free
  double expected_done(std::size_t job, double now) const;       // a share
  double service_seconds(const std::string& user) const;         // that started jobs of a user take

 private:
  struct Live {
    std::vector<std::size_t> slots;  // empty: it does not run
    double start_seconds = 0, done = 0;
    bool stopped = false;  // a further start costs time
  };

  const Problem& problem_;
  std::vector<Live> live_;  // of each job
  std::vector<std::size_t> waiting_;
  std::set<std::size_t> running_;
  std::vector<std::optional<std::size_t>> occupant_;  // of each slot
  std::vector<double> idle_since_;                    // likewise
  std::map<std::string, double> service_;
};

}  // namespace trainyard::place
