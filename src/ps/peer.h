#pragma once

#include <functional>

#include "comm/transport/connection.h"
#include "ps/messages.h"

namespace trainyard::ps {

// Somebody to exchange short messages with: another server, the coordinator.
class Peer final : public comm::transport::Receiver {
 public:
  using Heard = std::function<void(const comm::transport::Frame&, std::span<const std::byte>)>;
  using Gone = std::function<void(const std::string& reason)>;

  Peer(std::unique_ptr<comm::transport::Connection> connection, Heard heard, Gone gone);

  void say(const comm::transport::Frame& frame, Bytes payload = {});
  comm::transport::Connection& connection() { return *connection_; }
  std::uint32_t id() const { return connection_->peer().id; }

  std::span<std::byte> room_for(const comm::transport::Frame& frame) override;
  void arrived(const comm::transport::Frame& frame, std::span<std::byte> payload) override;
  void closed(const std::string& reason) override;

 private:
  std::unique_ptr<comm::transport::Connection> connection_;
  Heard heard_;
  Gone gone_;
  Bytes room_;
};

}  // namespace trainyard::ps
