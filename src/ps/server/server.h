#pragma once

#include "comm/transport/listener.h"
#include "ps/server/member.h"
#include "ps/server/options.h"
#include "ps/server/replica.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

// Holds the parts of a server. References outlive it.
struct ServerParts {
  comm::transport::Loop& loop;
  const ServerOptions& options;
  const std::vector<Key>& keys;
  Updater& updater;
  const comm::transport::Address& address;
  const comm::transport::JobKey* key;           // as in listen()
  std::function<void(const std::string&)> log;  // gets one line for each event that a person may want to know
};

// A Server is one server: keeps its shard, takes gradients, and lets workers go on as the mode says. This
// class is what all servers do alike; what they do with each other, Leader and Follower add. Lives on the
// thread of its loop.
class Server : private Member::Owner {
 public:
  using Log = std::function<void(const std::string&)>;

  // Receives the leader's reports.
  struct Watcher {
    std::function<void(const Noted&, std::span<const std::byte> note)> noted;
    // No batch is left, after so many updates; or why it ended before.
    std::function<void(std::int64_t updates, const std::string& failure)> finished;
  };

  comm::transport::Address address() const { return listener_->address(); }

  // Returns whether it has parameters to serve, from a process before it.
  bool has_begun() const { return replica_.has_begun(); }
  // Sets the parameters of its shard.
  void begin(std::span<const float> parameters, std::span<const float> slots, const LedgerStart& start) {
    replica_.begin(parameters, slots, start);
  }
  // Brings this server together with the others: a follower calls the leader, the leader waits for its
  // followers. Workers may join when all agree on what counts. REQUIRES: has_begun(), and the addresses of
  // all servers in their order.
  virtual void connect(const std::vector<comm::transport::Address>& servers) = 0;

  const Shard& shard() const { return replica_.shard(); }
  int live_workers() const { return roster_.size(); }
  ServerCounts counts() const;
  // Calls back with all numbers, once so many updates are in them, and what the ledger says then.
  void snapshot(std::int64_t updates, Replica::OnSnapshot on_snapshot) {
    replica_.snapshot(updates, std::move(on_snapshot));
  }

  // A follower has nothing to report.
  virtual void watch(Watcher watcher) = 0;
  // Workers end when they have done what they do; then finished(). REQUIRES: it leads.
  virtual void halt() = 0;

 protected:
  explicit Server(const ServerParts& parts);

  // Reports of this server's workers. The leader decides what follows; a follower tells the leader.
  virtual void seen(int worker) = 0;  // it wants to join
  virtual void lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) = 0;
  // All of its gradient of this clock is here; it is bad in a key.
  virtual void prepared(int worker, std::uint32_t epoch, std::uint64_t clock,
                        std::optional<std::uint32_t> bad_key) = 0;
  // The mode lets the worker go on.
  virtual void released(int worker) = 0;

  // Another server calls. Returns false when this one expects no such call, and leaves the connection.
  virtual bool meet_server(int number, std::unique_ptr<comm::transport::Connection>& connection) = 0;
  // Called some times a second. `listened`: this process was not suspended, so silence is a peer's own.
  virtual void look_at_servers(bool listened) = 0;
  // Called by suspend(): at once; and later, when no call of a peer is under way.
  virtual void stop_agreeing() = 0;
  virtual void meet_servers_again() = 0;

  // Performs an event, in the leader's order.
  void perform(const Event& event);
  void report_arriving();
  // All servers agree on what counts: workers join anew. Gradients that do not count are dropped.
  void restart();
  // A server is missing: all workers are removed, and may join again. Gradients that they promised are kept
  // until all servers agree on what counts.
  void suspend(const std::string& reason);
  bool is_suspending() const { return suspending_; }
  std::string silence() const { return fmt::format("it said nothing for {} s", options_.lease_seconds); }

  // Runs behind the work in progress, unless the server is gone by then.
  template <typename Work>
  void post(Work work) {
    loop_.post([alive = std::weak_ptr<bool>(alive_), work = std::move(work)] {
      if (!alive.expired()) work();
    });
  }

  comm::transport::Loop& loop_;
  const ServerOptions options_;
  const Log log_;
  Replica replica_;
  Roster roster_;
  WeightsSender sender_;

 private:
  void meet(std::unique_ptr<comm::transport::Connection> peer);
  void wants_to_join(Member& member) override;
  void gradient_is_here(Member& member) override;
  void gone(Member& member, const std::string& reason, bool may_return) override;

  void admit(const Event& event);
  void commit(const Event& event);
  void remove(const Event& event);
  void look_at_leases();
  void look_at_members(bool listened);
  void forget_departed();

  Bytes welcome_;
  comm::transport::RefusalLog refusals_;
  std::unique_ptr<comm::transport::Loop::Timer> lease_timer_;
  double looked_;
  bool suspending_ = false, forgetting_ = false;
  std::vector<std::shared_ptr<Buffer>> kept_;  // gradients that may count, of workers that are out
  ServerCounts counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<comm::transport::Listener> listener_;
};

// Server 0 leads.
std::unique_ptr<Server> make_server(comm::transport::Loop& loop, const ServerOptions& options,
                                    const std::vector<Key>& keys, Updater& updater,
                                    const comm::transport::Address& address,
                                    const comm::transport::JobKey* key, Server::Log log);

}  // namespace trainyard::ps
