#include "comm/transport/frame.h"

#include "base/crc32c.h"
#include "base/error.h"

namespace trainyard::comm::transport {

namespace {

constexpr std::uint32_t kMagic = 0x53505954;  // "TYPS"
constexpr std::size_t kChecksumAt = kFrameBytes - 4;

}  // namespace

FrameBytes encode(const Frame& frame) {
  FrameBytes bytes{};
  std::byte* at = put(bytes.data(), kMagic);
  at = put(at, kWireVersion);
  at = put(at, frame.kind);
  at = put(at, frame.flags);
  at = put(at, frame.payload_bytes);
  at = put(at, frame.epoch);
  at = put(at, frame.sender);
  at = put(at, frame.key);
  at = put(at, frame.clock);
  at = put(at, frame.payload_crc);
  put(at, crc32c(std::span(bytes).first<kChecksumAt>()));
  return bytes;
}

Frame decode(std::span<const std::byte, kFrameBytes> bytes, std::uint32_t most_payload_bytes) {
  std::uint32_t magic = 0, checksum = 0;
  std::uint8_t version = 0;
  Frame frame;
  const std::byte* at = get(bytes.data(), magic);
  at = get(at, version);
  at = get(at, frame.kind);
  at = get(at, frame.flags);
  at = get(at, frame.payload_bytes);
  at = get(at, frame.epoch);
  at = get(at, frame.sender);
  at = get(at, frame.key);
  at = get(at, frame.clock);
  at = get(at, frame.payload_crc);
  get(at, checksum);
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

void FrameQueue::add(Frame frame, std::span<const std::byte> payload, std::function<void()> sent) {
  frame.payload_bytes = static_cast<std::uint32_t>(payload.size());
  frames_.push_back({encode(frame), payload, std::move(sent)});
}

FrameQueue::Sent FrameQueue::advance(std::size_t bytes) {
  Sent sent;
  while (bytes > 0) {
    TRAINYARD_CHECK(!frames_.empty());
    Outgoing& first = frames_.front();
    const std::size_t of_first = std::min(bytes, first.bytes() - first.done);
    first.done += of_first;
    bytes -= of_first;
    if (first.done < first.bytes()) break;
    ++sent.frames;
    if (first.sent) sent.reports.push_back(std::move(first.sent));
    frames_.pop_front();
  }
  return sent;
}

}  // namespace trainyard::comm::transport
