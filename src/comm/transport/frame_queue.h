#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "comm/transport/frame.h"

namespace trainyard::comm::transport {

// Frames that a connection is to send, in their order; of the first some bytes may be sent already. Payloads
// stay where they are.
class FrameQueue {
 public:
  // Fills in payload_bytes.
  void add(Frame frame, std::span<const std::byte> payload, std::function<void()> sent);
  bool empty() const { return frames_.empty(); }
  void clear() { frames_.clear(); }

  // What of the first frame is sent next; the rest of its payload may follow. REQUIRES: there is one.
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
