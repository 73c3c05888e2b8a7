#pragma once

#include "comm/transport/loop.h"
#include "ps/mode/mode.h"
#include "ps/server/options.h"
#include "ps/server/shard.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

// Performs, for one server, the events that happen to workers: it owns the mode, the shard and the ledger,
// and knows no network. A gradient is in the ledger before it is applied: a server that was killed applies
// the missing ones when it restarts.
class Replica final : public Mode::Host {
 public:
  using OnSnapshot = std::function<void(Shard::Copy, const LedgerStart&)>;

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

  // Calls back with all numbers, once so many updates are in them, and what the ledger says then.
  void snapshot(std::int64_t updates, OnSnapshot on_snapshot);

 private:
  struct Wanted {
    std::int64_t updates = 0;
    OnSnapshot on_snapshot;
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

}  // namespace trainyard::ps
