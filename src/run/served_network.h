#pragma once

#include "run/decode_rounds.h"
#include "train/exchange/replicas.h"

namespace trainyard::run {

// A network that is ready to answer requests in batches of some sizes. It was compiled for each of them, and
// all share its parameters. The caller's thread runs it.
class ServedNetwork {
 public:
  virtual ~ServedNetwork() = default;

  // Answers a batch of the size of this number: what was asked comes from memory of the host, and the answers
  // are there at the end. Returns the seconds to the first new tokens; 0: answers come whole.
  virtual double answer(std::size_t size) = 0;
  virtual graph::Cost cost(std::size_t size) const = 0;  // of such a batch
  virtual train::RunFacts facts() const = 0;             // but for the work of a step
  virtual const engine::Executor& executor() const = 0;  // of the largest size
  // The batches that were answered so far were no part of the measurement.
  virtual void forget_times() {}
  // Adds what is special to this kind. `mean_requests`: of a batch.
  virtual void add_figures(record::RunRecord& run, double mean_requests) const = 0;
};

// The sizes, smallest first, for which a policy ("doubling", "one") compiles: the last is `batch`.
std::vector<std::int64_t> batch_sizes(const std::string& policy, std::int64_t batch);

// Returns the number of the least size that holds so many requests. REQUIRES: some does.
std::size_t size_for(const std::vector<std::int64_t>& sizes, std::int64_t requests);

// Serves the network of a run, by its mode.
std::unique_ptr<ServedNetwork> make_served_network(const BenchOptions& options,
                                                   const std::vector<std::int64_t>& sizes);

}  // namespace trainyard::run
