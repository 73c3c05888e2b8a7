#include "comm/transport/frame.h"

#include "base/error.h"
#include "comm/transport/crc32c.h"

namespace trainyard::comm::transport {
namespace {

constexpr std::uint32_t kMagic = 0x53505954;  // "TYPS"
constexpr std::size_t kChecksumAt = kFrameBytes - 4;

// Numbers lie with their lowest byte first on every machine.
template <typename Number>
void put(FrameBytes& bytes, std::size_t& at, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    bytes[at++] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
}

template <typename Number>
void get(std::span<const std::byte, kFrameBytes> bytes, std::size_t& at, Number& number) {
  std::uint64_t wide = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) wide |= static_cast<std::uint64_t>(bytes[at++]) << (8 * i);
  number = static_cast<Number>(wide);
}

}  // namespace

FrameBytes encode(const Frame& frame) {
  FrameBytes bytes{};
  std::size_t at = 0;
  put(bytes, at, kMagic);
  put(bytes, at, kWireVersion);
  put(bytes, at, frame.kind);
  put(bytes, at, frame.flags);
  put(bytes, at, frame.payload_bytes);
  put(bytes, at, frame.epoch);
  put(bytes, at, frame.sender);
  put(bytes, at, frame.key);
  put(bytes, at, frame.clock);
  put(bytes, at, frame.payload_crc);
  put(bytes, at, crc32c(std::span(bytes).first<kChecksumAt>()));
  return bytes;
}

Frame decode(std::span<const std::byte, kFrameBytes> bytes, std::uint32_t most_payload_bytes) {
  std::size_t at = 0;
  std::uint32_t magic = 0, checksum = 0;
  std::uint8_t version = 0;
  Frame frame;
  get(bytes, at, magic);
  get(bytes, at, version);
  get(bytes, at, frame.kind);
  get(bytes, at, frame.flags);
  get(bytes, at, frame.payload_bytes);
  get(bytes, at, frame.epoch);
  get(bytes, at, frame.sender);
  get(bytes, at, frame.key);
  get(bytes, at, frame.clock);
  get(bytes, at, frame.payload_crc);
  get(bytes, at, checksum);
  if (magic != kMagic) fail(ErrorKind::peer, "what came is no frame: it begins with {:#010x}", magic);
  if (version != kWireVersion)
    fail(ErrorKind::peer, "a frame of version {} came, this side speaks version {}", version, kWireVersion);
  if (checksum != crc32c(bytes.first<kChecksumAt>())) fail(ErrorKind::peer, "a damaged frame came");
  if (frame.payload_bytes > most_payload_bytes)
    fail(ErrorKind::peer, "a frame of {} bytes came, at most {} are taken", frame.payload_bytes,
         most_payload_bytes);
  return frame;
}

void check_payload(const Frame& frame, std::span<const std::byte> payload) {
  TRAINYARD_CHECK(payload.size() == frame.payload_bytes);
  if (crc32c(payload) != frame.payload_crc)
    fail(ErrorKind::peer, "a damaged payload of {} bytes came (kind {}, key {}, clock {})", payload.size(),
         frame.kind, frame.key, frame.clock);
}

}  // namespace trainyard::comm::transport
