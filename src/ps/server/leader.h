#pragma once

#include "ps/server/arbiter.h"
#include "ps/server/server.h"
#include "ps/wire/peer.h"

namespace trainyard::ps {

// Server 0. It asks its arbiter what follows from the reports of all servers, tells the followers every
// event, and performs it itself.
class Leader final : public Server, private Arbiter::Host {
 public:
  explicit Leader(const ServerParts& parts);

  void connect(const std::vector<comm::transport::Address>& servers) override;
  void watch(Watcher watcher) override { watcher_ = std::move(watcher); }
  void halt() override;

 private:
  // A Seat is a follower as the leader sees it.
  struct Seat {
    std::unique_ptr<Peer> peer;
    std::optional<Ledger> ledger = {};  // what counts for it, when it has said so
    bool agreed = false;
  };

  void seen(int worker) override;
  void lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) override;
  void prepared(int worker, std::uint32_t epoch, std::uint64_t clock,
                std::optional<std::uint32_t> bad_key) override;
  void released(int worker) override;
  bool meet_server(int number, std::unique_ptr<comm::transport::Connection>& connection) override;
  void look_at_servers(bool listened) override;
  void stop_agreeing() override;
  void meet_servers_again() override { followers_.clear(); }

  void happen(const Event& event) override;
  const Ledger& ledger() const override { return replica_.ledger(); }
  void lend(int worker, std::int64_t batch) override;
  void send_weights(int worker) override { sender_.send_newest(roster_.present(worker)); }
  void send_done(int worker) override;
  void finished(const std::string& failure) override;

  void note(const Event& commit);
  void settle();
  void settle_soon();

  void heard(int number, const comm::transport::Frame& frame, std::span<const std::byte> payload);
  void say_to_all(const comm::transport::Frame& frame, const Bytes& payload = {});
  template <typename Condition>
  bool all_followers(const Condition& condition) const;
  void agree_when_complete();
  void begin_when_agreed();

  Arbiter arbiter_;
  Watcher watcher_;
  std::map<int, Seat> followers_;  // by number: those that are here
  bool connected_ = false, lending_ = false, settling_ = false;
};

}  // namespace trainyard::ps
