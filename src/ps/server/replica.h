#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "comm/transport/loop.h"
#include "ps/mode/mode.h"
#include "ps/server/server.h"
#include "ps/server/shard.h"
#include "ps/wire/link.h"

namespace trainyard::ps {

// Performs, for one server, the events that happen to workers: it owns the mode, the shard and the ledger,
// and knows no network. A gradient is in the ledger before it is applied: a server that was killed applies
// the missing ones when it restarts.
class Replica final : public Mode::Host {
 public:
  // `released`: the mode lets a worker go on.
  Replica(comm::transport::Loop& loop, const ServerOptions& options, const std::vector<Key>& keys,
          Updater& updater, std::function<void(int worker)> released);

  bool has_begun() const { return memory_->has_begun(); }
  // Returns the address to listen at: the same as that of the previous process, because workers know it.
  comm::transport::Address as_before(comm::transport::Address address) const {
    if (address.port == 0 && has_begun()) address.port = memory_->port();
    return address;
  }
  void keep_port(std::uint16_t port) { memory_->set_port(port); }
  void begin(std::span<const float> parameters, std::span<const float> slots, const LedgerStart& start);

  const Shard& shard() const { return *shard_; }
  const Ledger& ledger() const { return memory_->ledger(); }
  BufferPool& gradients() { return gradients_; }
  // From here on the gradient survives this process.
  void keep(const Buffer& gradient, int worker, std::uint64_t clock);
  void drop(const Buffer& gradient) { memory_->drop_gradient(gradient.number); }

  // Adds gradients that count for the other servers as well. They have kept these gradients, and so has this
  // one.
  void take_history(const std::vector<Counted>& gradients);
  // Removes all workers. Gradients that were kept and do not count are dropped.
  void restart();

  void start() { mode_->start(); }
  void join(int worker) { mode_->join(worker); }
  void leave(int worker) { mode_->leave(worker); }
  void commit(int worker, std::uint64_t clock, std::int64_t batch, Mode::Gradient gradient);

  // Returns the number of gradients that count and are still to be applied.
  std::int64_t waiting() const { return ledger().updates() - shard_->updates(); }
  double apply_seconds() const { return apply_seconds_; }

  void snapshot(std::int64_t updates, Server::OnSnapshot on_snapshot);

 private:
  struct Wanted {
    std::int64_t updates = 0;
    Server::OnSnapshot on_snapshot;
  };

  void apply(std::span<const float> gradient, int summed) override;
  void apply_beside(int worker, Mode::Gradient gradient, std::function<void()> done) override;
  void release(int worker) override { released_(worker); }

  void add_to_ledger();
  void apply_counted(std::span<const Counted> gradients);
  void apply_since(std::int64_t update);
  void finish_appliers();
  void take_snapshots();

  ServerOptions options_;
  std::shared_ptr<StateMemory> memory_;
  BufferPool gradients_;
  std::unique_ptr<Shard> shard_;
  Updater& updater_;
  std::function<void(int)> released_;
  std::vector<Counted> committed_;  // and not in the ledger yet
  std::vector<Wanted> wanted_;
  std::vector<float> sum_;
  double apply_seconds_ = 0;
  std::uint64_t generation_ = 0;
  std::unique_ptr<Mode> mode_;
  std::vector<std::unique_ptr<Applier>> appliers_;  // none: all is applied on the loop
};

// The other servers as the leader sees them: which are here, what counts for each, which have agreed.
class Followers {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void heard_from_follower(int number, const comm::transport::Frame& frame,
                                     std::span<const std::byte> payload) = 0;
    virtual void follower_is_lost(int number, const std::string& reason) = 0;
  };

  Followers(Owner& owner, int count) : owner_(owner), count_(count) {}

  bool has(int number) const { return all_.contains(number); }
  void meet(int number, std::unique_ptr<comm::transport::Connection> connection);
  // Closes all of their connections. Must not be called from within a call of one.
  void clear() { all_.clear(); }

  void say(const comm::transport::Frame& frame, const Bytes& payload = {});
  // Returns the first that said nothing for so long.
  std::optional<int> silent(double seconds);

  // Returns whether all are here, and have said what counts for them.
  bool have_ledgers() const;
  // Returns the longest among the followers' ledgers and `own`. REQUIRES: have_ledgers().
  const Ledger& longest_ledger(const Ledger& own) const;
  // Tells each follower the gradients that it lacks.
  void say_history(const Ledger& longest);
  bool have_agreed() const;

 private:
  struct Follower {
    std::unique_ptr<Peer> peer;
    std::optional<Ledger> ledger;
    bool agreed = false;
  };
  void heard(int number, const comm::transport::Frame& frame, std::span<const std::byte> payload);

  Owner& owner_;
  int count_;
  std::map<int, Follower> all_;
};

}  // namespace trainyard::ps
