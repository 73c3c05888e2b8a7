#include "ps/wire/peer.h"

namespace trainyard::ps {

using comm::transport::Frame;

Peer::Peer(std::unique_ptr<comm::transport::Connection> connection, Heard heard, Gone gone)
    : connection_(std::move(connection)), heard_(std::move(heard)), gone_(std::move(gone)) {
  connection_->start(*this);
}

void Peer::say(const Frame& frame, Bytes payload) {
  if (payload.empty()) return connection_->send(frame);
  auto kept = std::make_shared<const Bytes>(std::move(payload));
  connection_->send(frame, *kept, [kept] {});
}

std::span<std::byte> Peer::room_for(const Frame& frame) {
  room_.resize(frame.payload_bytes);
  return room_;
}

void Peer::arrived(const Frame& frame, std::span<std::byte> payload) { heard_(frame, payload); }

void Peer::closed(const std::string& reason) { gone_(reason); }

}  // namespace trainyard::ps
