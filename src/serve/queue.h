#pragma once

#include "serve/arrivals.h"

namespace trainyard::serve {

// The time by which requests come and are answered, in seconds from any moment.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now() = 0;
  // Returns at that moment or a little later, at once where it is over.
  virtual void wait_until(double moment) = 0;
};

// The clock of the machine.
class SteadyClock : public Clock {
 public:
  double now() override;
  void wait_until(double moment) override;
};

struct QueueOptions {
  Arrivals arrivals;
  std::int64_t requests = 1;                                     // sent in all
  double max_seconds = std::numeric_limits<double>::infinity();  // none is due later; those due are answered
  std::int64_t batch = 1;                                        // most requests of one batch
  double wait_seconds = 0;  // the longest that a request waits for others while nothing runs
  std::uint64_t seed = 1;
  // Asked between batches and while nothing is due: true ends the queue with what was answered. Null: never.
  std::function<bool()> stop = nullptr;
  std::function<void(std::int64_t answered)> progress = nullptr;
};

// Moments are in seconds from the begin. `due` is when a request was to be sent, not when somebody had the
// time to take it: a server that is held up delays its requests, and does not make them come later.
struct Request {
  double due = 0, begun = 0, first = 0, ended = 0;  // first: of an answer that comes in parts
};

struct Batch {
  double begun = 0, ended = 0;
  std::int64_t requests = 0;
  std::int64_t waiting = 0;  // requests that were due as it began, its own included
};

struct Answered {
  std::vector<Request> requests;  // in the order of their batches
  std::vector<Batch> batches;
  bool stopped = false, timed_out = false;  // by `stop`; by max_seconds
};

// Answers so many requests as one batch, and returns the seconds from its begin to the first part of the
// answers; 0: they come whole.
using Server = std::function<double(std::int64_t requests)>;

// Serves requests one batch after the other, each with the requests that came first. A batch begins when it
// is full, or when its oldest request has waited long enough, or when no more can come.
Answered serve(const QueueOptions& options, Clock& clock, const Server& server);

}  // namespace trainyard::serve
