#pragma once

#include <utility>

#include "comm/transport/connection.h"

namespace trainyard::comm::transport {

// A connection whose `Stream` lives as long as something is under way on it, also when the connection is
// gone.
template <typename Stream>
class ConnectionHandle final : public Connection {
 public:
  ConnectionHandle(std::shared_ptr<Stream> stream, const Hello& peer, std::string address)
      : stream_(std::move(stream)), peer_(peer), address_(std::move(address)) {}
  ~ConnectionHandle() override { stream_->abandon(); }

  void start(Receiver& receiver) override { stream_->start(receiver); }
  void send(Frame frame, std::span<const std::byte> payload, std::function<void()> sent) override {
    stream_->send(frame, payload, std::move(sent));
  }
  void close(const std::string& reason, bool drain) override { stream_->close(reason, drain); }
  const Hello& peer() const override { return peer_; }
  std::string address() const override { return address_; }
  const Traffic& traffic() const override { return stream_->traffic(); }
  double seconds_since_heard() const override { return stream_->seconds_since_heard(); }

 private:
  std::shared_ptr<Stream> stream_;
  Hello peer_;
  std::string address_;
};

}  // namespace trainyard::comm::transport
