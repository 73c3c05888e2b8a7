#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainyard::comm::transport {

// What stands before every message (docs/formats/ps-wire.md). Who uses a connection gives `kind`, `flags`,
// `epoch`, `sender`, `key` and `clock` their meaning.
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

}  // namespace trainyard::comm::transport
