#pragma once

// Numbers on the wire lie with their lowest byte first, on every machine.

#include <deque>

#include "base/standard.h"

namespace trainyard::comm::transport {

// Both return where the next one lies.
template <typename Number>
std::byte* put(std::byte* at, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    *at++ = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
  return at;
}

template <typename Number>
const std::byte* get(const std::byte* at, Number& number) {
  std::uint64_t wide = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) wide |= static_cast<std::uint64_t>(*at++) << (8 * i);
  number = static_cast<Number>(wide);
  return at;
}

// Frame is the header that precedes every message (docs/formats/ps-wire.md). The user of a connection defines
// the meaning of `kind`, `flags`, `epoch`, `sender`, `key` and `clock`.
struct Frame {
  std::uint8_t kind = 0;
  std::uint16_t flags = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t epoch = 0;
  std::uint32_t sender = 0;
  std::uint32_t key = 0;
  std::uint64_t clock = 0;
  std::uint32_t payload_crc = 0;

  bool operator==(const Frame&) const = default;
};

inline constexpr std::size_t kFrameBytes = 40;
inline constexpr std::uint8_t kWireVersion = 1;

using FrameBytes = std::array<std::byte, kFrameBytes>;

FrameBytes encode(const Frame& frame);

// Nothing of a payload is believed before this succeeds. Error (peer): not a frame, another version, damaged,
// or a payload of more than `most_payload_bytes`.
Frame decode(std::span<const std::byte, kFrameBytes> bytes, std::uint32_t most_payload_bytes);

// Error (peer) when it is not what the frame was made for.
void check_payload(const Frame& frame, std::span<const std::byte> payload);

// Frames that a connection is to send, in their order; of the first some bytes may be sent already. Payloads
// stay where they are.
class FrameQueue {
 public:
  // Fills in payload_bytes.
  void add(Frame frame, std::span<const std::byte> payload, std::function<void()> sent);
  bool empty() const { return frames_.empty(); }
  void clear() { frames_.clear(); }

  // Returns the bytes of the first frame that are sent next; the rest of its payload may follow. REQUIRES:
  // the queue is not empty.
  std::span<const std::byte> front() const { return frames_.front().rest(); }
  // Calls with all that is not sent of the first frames, at most so many. What it lies in stays until
  // advance() or clear(), also when frames are added.
  template <typename Take>
  void for_each_piece(std::size_t most_frames, const Take& take) const {
    for (std::size_t i = 0; i < frames_.size() && i < most_frames; ++i) {
      const Outgoing& frame = frames_[i];
      take(frame.rest());
      if (frame.done < kFrameBytes && !frame.payload.empty()) take(frame.payload);
    }
  }

  struct Sent {
    std::size_t frames = 0;                      // that are sent whole by now
    std::vector<std::function<void()>> reports;  // of those that wanted to know
  };
  // So many more bytes are sent.
  Sent advance(std::size_t bytes);

 private:
  struct Outgoing {
    FrameBytes header;
    std::span<const std::byte> payload;
    std::function<void()> sent;
    std::size_t done = 0;  // bytes of both

    std::size_t bytes() const { return kFrameBytes + payload.size(); }
    std::span<const std::byte> rest() const {
      return done < kFrameBytes ? std::span<const std::byte>(header).subspan(done)
                                : payload.subspan(done - kFrameBytes);
    }
  };
  std::deque<Outgoing> frames_;
};

}  // namespace trainyard::comm::transport
