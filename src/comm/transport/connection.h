#pragma once

#include "comm/transport/frame.h"
#include "comm/transport/handshake.h"

namespace trainyard::comm::transport {

// Receives what a connection reads. An error thrown by one of these functions closes the connection, with its
// message as the reason; an error of kind internal propagates out of the loop.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Room for the payload, of frame.payload_bytes; asked only for frames that are whole and within limits.
  virtual std::span<std::byte> room_for(const Frame& frame) = 0;
  // The payload came whole, and as it was sent.
  virtual void arrived(const Frame& frame, std::span<std::byte> payload) = 0;
  // Called once, as the last call. Nothing of a payload that was still coming was reported.
  virtual void closed(const std::string& reason) = 0;
};

struct Traffic {
  std::uint64_t bytes_sent = 0, bytes_received = 0, frames_sent = 0, frames_received = 0;
};

// A Connection is a peer that has shown the key of the job. Used on the thread of its loop.
class Connection {
 public:
  virtual ~Connection() = default;

  // Begins to read. `receiver` is used until closed() was called, or until the connection is gone.
  virtual void start(Receiver& receiver) = 0;
  // Sends in the order of the calls, straight from `payload`, which must stay as it is until `sent` is called
  // or the connection is closed. Fills in payload_bytes and payload_crc. Does nothing once it is closed.
  virtual void send(Frame frame, std::span<const std::byte> payload = {},
                    std::function<void()> sent = {}) = 0;
  // Ends it, after what was given to send() when `drain`; one without does not wait for one that does.
  // closed() is called, but not from within this call: when the peer has ended as well, or after a second.
  virtual void close(const std::string& reason, bool drain = false) = 0;

  virtual const Hello& peer() const = 0;
  virtual std::string address() const = 0;  // of the peer, for messages
  virtual const Traffic& traffic() const = 0;
  virtual double seconds_since_heard() const = 0;
};

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

struct ConnectionLimits {
  std::uint32_t most_payload_bytes = 4 << 20;
  double handshake_seconds = 3;  // from the first byte to the last of a handshake
  int most_strangers = 64;       // calls that have shown no key yet; when more come, the oldest goes
};

}  // namespace trainyard::comm::transport
