#pragma once

#include <deque>

#include "ps/wire/ledger.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

// Assigns batches to workers. A batch is lent to one worker at a time; the batches of a lost worker return
// and are lent again, so that each is used exactly once.
class Batches {
 public:
  // `total`: in all; negative: without end. Those that the ledger calls used are not lent again.
  Batches(std::int64_t total, const Ledger& ledger);

  // Lends the lowest free batch; none when there is none.
  std::optional<std::int64_t> lend(int worker);
  // Returns the batches lent to the worker; it uses the front one first.
  const std::deque<std::int64_t>& lent_to(int worker) const;
  // Marks the worker's first batch as used.
  std::int64_t use(int worker);
  void take_back(int worker);

  // Returns whether nothing is free, and nobody has any.
  bool all_used() const { return lent_.empty() && free_.empty() && at_the_end(); }
  bool any_free() const { return !free_.empty() || !at_the_end(); }

 private:
  bool at_the_end() const { return total_ >= 0 && next_ >= total_; }

  std::int64_t total_, next_;
  std::set<std::int64_t> free_;  // below next_
  std::map<int, std::deque<std::int64_t>> lent_;
};

struct ArbiterOptions {
  int servers = 1;
  int workers = 1;        // training starts when so many have joined
  int least_workers = 1;  // with fewer for longer than `patience_seconds` it ends
  double patience_seconds = 30;
  std::int64_t batches = -1;  // to be used in all; negative: without end
};

// Decides for the leader what happens to workers, on all servers: who is in, whose gradient counts, who is
// out. It knows what each server has, and knows no network. Every server performs its decisions in the order
// in which it makes them, so all of them always agree: a gradient counts when every server has all of its
// part, and not before.
class Arbiter {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Performs the event on every server, this one included.
    virtual void happen(const Event& event) = 0;
    // Returns the record of the gradients that count by now. Do not keep the reference: the next ledger may
    // lie elsewhere.
    virtual const Ledger& ledger() const = 0;
    virtual void lend(int worker, std::int64_t batch) = 0;
    // Called when the worker is released and has a batch to go on with.
    virtual void send_weights(int worker) = 0;
    virtual void send_done(int worker) = 0;
    // Called when nothing is left to do, or with the reason why nothing can be done; the latter may follow
    // the former.
    virtual void finished(const std::string& failure) = 0;
  };

  Arbiter(Host& host, const ArbiterOptions& options) : host_(host), options_(options) {}

  // All servers agree on what counts: workers may come.
  void begin(double now);
  // A server is missing: nothing happens until begin().
  void suspend(double now);
  bool is_active() const { return active_; }

  // A server has a new connection of a worker; has lost one, of this epoch (0: it was not in yet); has all of
  // its gradient of this clock, and found it bad in a key.
  void seen(int server, int worker);
  void lost(int server, int worker, std::uint32_t epoch, const std::string& reason, bool may_return);
  void prepared(int server, int worker, std::uint32_t epoch, std::uint64_t clock,
                std::optional<std::uint32_t> bad_key);

  // The mode lets the worker go on: it does, when settle() finds a batch for it.
  void release(int worker);
  // Does what follows from what was said since the last call.
  void settle();
  // Gives workers batches ahead of their need, in the order of workers. A worker that waits for a round to
  // end gets none, because the next round would then depend on who came first.
  void lend_ahead();
  // No more batches: workers end when they have done what they do.
  void halt();
  // Called some times a second.
  void look_at_time(double now);

  int live_workers() const { return static_cast<int>(members_.size()); }

 private:
  struct Member {
    std::uint32_t epoch = 0;
    std::uint64_t clock = 0;
    std::set<int> prepared = {};  // servers
    bool parked = false;          // let go on, but it has not begun
    bool resting = false;         // there was no batch for it: the others do not wait for it
    bool computing = false;       // from the weights until its gradient counts
  };
  Member* find(int worker, std::uint32_t epoch);
  void admit_when_seen(int worker);
  void admit_who_waits();
  void admit(int worker);
  void remove(int worker, const std::string& reason, bool may_return);
  void start_when_enough(bool late);
  bool go_on(int worker, Member& member);
  void finish(const std::string& failure);
  void give_up_on_servers(double now);

  static constexpr int kAhead = 2;  // batches a worker has: the one it uses, and the one it can prepare

  Host& host_;
  ArbiterOptions options_;
  std::optional<Batches> batches_;
  std::uint32_t epochs_ = 0;
  std::map<int, std::set<int>> waiting_;  // by worker: servers that saw it
  std::map<int, Member> members_;
  std::map<int, std::uint64_t> committed_;  // by worker: the clock after its last gradient that was taken
  bool active_ = false, started_ = false, started_once_ = false, halted_ = false, finished_ = false;
  bool gave_up_ = false;
  int were_in_ = 0;  // before the last fault
  double began_ = 0, short_since_ = 0, suspended_ = 0;
};

}  // namespace trainyard::ps
