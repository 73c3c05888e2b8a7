#pragma once

#include "serve/queue.h"

namespace trainyard::serve {

// Holds the middle and the tail of times. Zero where there are none.
struct Tail {
  double median = 0, p95 = 0, p99 = 0, max = 0;
};
Tail tail_of(std::vector<double> seconds);

// LatencySummary is what users and owners of a server ask: how long answers take, and how busy it is.
struct LatencySummary {
  Tail latency, queue, first;      // from the moment at which a request was due: to its answer, its batch,
                                   // the first part of the answer
  double requests_per_second = 0;  // answered, from the begin to the last answer
  double capacity_per_second = 0;  // of full batches, one after the other
  double fill = 0;                 // requests of a batch over the most there can be: the mean of batches
  double busy = 0;                 // share of the time in which a batch ran
  std::int64_t peak_queue = 0;     // most requests that waited as a batch began, its own not among them
  bool overloaded = false;         // more requests come than full batches can answer: the queue grows
};

// `full_batch_seconds`: what a full batch takes, where too few of the answered ones were full. REQUIRES: a
// request that was answered.
LatencySummary summarise(const QueueOptions& options, const Answered& answered, double full_batch_seconds);

}  // namespace trainyard::serve
