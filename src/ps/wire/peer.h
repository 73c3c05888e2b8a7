#pragma once

#include "base/error.h"
#include "comm/transport/connection.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

// A peer to exchange short messages with: another server, or the coordinator.
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

// These functions send long arrays in frames of moderate length, between a server and the coordinator.

inline constexpr std::size_t kNumbersPerFrame = std::size_t{1} << 18;

inline void say_numbers(Peer& peer, Kind kind, std::uint32_t array, std::span<const float> numbers,
                        std::uint32_t epoch = 0) {
  for (std::size_t first = 0; first < numbers.size(); first += kNumbersPerFrame) {
    const std::span<const std::byte> bytes =
        std::as_bytes(numbers.subspan(first, std::min(kNumbersPerFrame, numbers.size() - first)));
    peer.say({.kind = wire(kind), .epoch = epoch, .key = array, .clock = first},
             {bytes.begin(), bytes.end()});
  }
}

// Error (peer) when the frame has numbers that are none of these.
inline void put_numbers(const comm::transport::Frame& frame, std::span<const std::byte> payload,
                        std::vector<std::vector<float>>& arrays) {
  const std::size_t count = payload.size() / sizeof(float);
  if (frame.key >= arrays.size() || payload.size() % sizeof(float) != 0 ||
      frame.clock > arrays[frame.key].size() || count > arrays[frame.key].size() - frame.clock)
    fail(ErrorKind::peer, "{} numbers from {} of array {} came, which are none of these", count, frame.clock,
         frame.key);
  std::copy(payload.begin(), payload.end(),
            std::as_writable_bytes(std::span(arrays[frame.key])).begin() +
                static_cast<std::ptrdiff_t>(frame.clock * sizeof(float)));
}

}  // namespace trainyard::ps
