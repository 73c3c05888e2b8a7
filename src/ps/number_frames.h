#pragma once

#include <algorithm>

#include "base/error.h"
#include "ps/peer.h"

// Long arrays in frames of moderate length, between a server and the coordinator.
namespace trainyard::ps {

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
