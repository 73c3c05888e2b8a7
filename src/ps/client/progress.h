#pragma once

#include <deque>

#include "base/standard.h"

namespace trainyard::ps {

// Counters of a client, for the record of a run.
struct ClientCounts {
  std::int64_t gradients = 0, dropped_gradients = 0, joins = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
};

// Progress knows how far a worker is with its gradient, and whether the one before counts. All transitions of
// a client's state are functions of this class; one that the state does not allow does nothing, unless it
// says otherwise. It knows no network and no thread: its owner guards it.
//
//   joining -> delivered -> computing -> waiting -> delivered -> ...
//      ^           |            |           |
//      |           |        lost: away      |        done and failed follow from any of them,
//      +-----------+------------+-----------+        ending from all
class Progress {
 public:
  enum class Stage : std::uint8_t {
    joining,    // no weights: servers are called, or have not all sent them yet
    delivered,  // weights are here, and the worker has not taken them
    computing,  // the worker has them; its gradient is sent as it becomes ready
    waiting,    // all of the gradient is sent
    away,       // servers were lost while the worker computes: they are called when it waits
    done,       // nothing is left to do
    failed,     // it cannot go on
    ending,     // the worker leaves
  };

  Stage stage() const { return stage_; }
  // The worker that waits need not wait any longer.
  bool is_settled() const {
    return stage_ == Stage::delivered || stage_ == Stage::done || stage_ == Stage::failed;
  }
  std::uint64_t clock() const { return clock_; }  // of the gradient that is made or on its way
  std::int64_t taken() const { return taken_; }   // times that the worker took weights
  const std::string& failure() const { return failure_; }
  std::optional<std::int64_t> next_batch() const;
  const ClientCounts& counts() const { return counts_; }

  // The servers cause these transitions.

  // All of them let the worker in. Their clock is authoritative: if they expect this gradient next, they have
  // not taken it before.
  void welcomed(std::uint64_t next_clock);
  void lent(std::int64_t batch) { leases_.push_back(batch); }
  // All weights are here: the gradient before counts. Fails without a batch for them.
  void weights_came();
  // A server is lost. All servers drop the work in progress alike. Returns whether to call them again now:
  // weights come right behind a welcome, so not while the worker still computes with those it has.
  bool lost();
  void finish();
  void fail(const std::string& reason);

  // The worker causes these.

  struct Taken {
    std::int64_t batch = 0;
    bool counted = true;  // whether the gradient before was taken
  };
  // Takes the weights. REQUIRES: delivered.
  Taken take();
  // The worker learns that nothing is left to do. REQUIRES: done.
  void take_end();
  void all_sent();
  // The worker waits since it took weights `taken` times; it may have got more since it said so. Returns
  // whether to call the servers now.
  bool waits(std::int64_t taken);
  void end() { stage_ = Stage::ending; }

 private:
  // Says what became of the last gradient.
  enum class Fate : std::uint8_t { none, open, counted, dropped };

  bool is_over() const { return stage_ >= Stage::done; }
  void count_last();

  Stage stage_ = Stage::joining;
  Fate last_ = Fate::none;
  std::uint64_t clock_ = 0;
  std::int64_t taken_ = 0;
  std::deque<std::int64_t> leases_;  // of batches; the first is that of the weights to come, or that are here
  std::string failure_;
  ClientCounts counts_;
};

}  // namespace trainyard::ps
