#pragma once

#include "ps/server/server.h"
#include "ps/wire/peer.h"

namespace trainyard::ps {

// A Follower is a server that does not lead: it tells the leader what its workers do, and performs the
// leader's events.
class Follower final : public Server {
 public:
  explicit Follower(const ServerParts& parts);

  void connect(const std::vector<comm::transport::Address>& servers) override;
  void watch(Watcher) override {}
  void halt() override;

 private:
  void seen(int worker) override;
  void lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) override;
  void prepared(int worker, std::uint32_t epoch, std::uint64_t clock,
                std::optional<std::uint32_t> bad_key) override;
  void released(int worker) override { sender_.send_newest(roster_.present(worker)); }
  bool meet_server(int, std::unique_ptr<comm::transport::Connection>&) override { return false; }
  void look_at_servers(bool listened) override;
  void stop_agreeing() override { agreed_ = false; }
  void meet_servers_again() override;

  void call_leader();
  void meet_leader(std::unique_ptr<comm::transport::Connection> connection);
  void heard(const comm::transport::Frame& frame, std::span<const std::byte> payload);
  void report(const comm::transport::Frame& frame, Bytes payload = {});

  comm::transport::JobKey key_;
  comm::transport::Address leader_address_;
  std::unique_ptr<Peer> leader_;  // null: not connected
  std::unique_ptr<comm::transport::Call> call_;
  std::unique_ptr<comm::transport::Loop::Timer> retry_;
  bool agreed_ = false;  // on what counts
};

}  // namespace trainyard::ps
