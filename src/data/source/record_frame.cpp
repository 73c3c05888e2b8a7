#include "data/source/record_frame.h"

#include <bit>

#include "base/crc32c.h"
#include "base/protobuf_wire.h"

namespace trainyard::data {

namespace {

// A CRC of data that holds its own CRC would be weak, hence the mask.
std::uint32_t masked_sum(std::string_view bytes) {
  return std::rotr(crc32c(bytes.data(), bytes.size()), 15) + 0xA282EAD8u;
}

bool length_sound(std::string_view rest) {
  return rest.size() >= kFrameHeadBytes &&
         get_raw<std::uint32_t>(rest.substr(8)) == masked_sum(rest.substr(0, 8));
}

}  // namespace

bool Frame::sound() const { return masked_sum(payload) == sum; }

void append_frame(std::string& out, std::string_view payload) {
  const std::size_t head = out.size();
  put_raw(out, static_cast<std::uint64_t>(payload.size()));
  put_raw(out, masked_sum(std::string_view(out).substr(head)));
  out.append(payload);
  put_raw(out, masked_sum(payload));
}

std::optional<Frame> first_frame(std::string_view rest) {
  if (!length_sound(rest) || rest.size() < kFrameHeadBytes + kFrameTailBytes) return std::nullopt;
  const auto length = get_raw<std::uint64_t>(rest);
  if (length > rest.size() - kFrameHeadBytes - kFrameTailBytes) return std::nullopt;
  return Frame{rest.substr(kFrameHeadBytes, length),
               get_raw<std::uint32_t>(rest.substr(kFrameHeadBytes + length))};
}

const char* why_no_frame(std::string_view rest) {
  return rest.size() < kFrameHeadBytes || length_sound(rest) ? "the file ends within the record"
                                                             : "its length does not agree with its checksum";
}

}  // namespace trainyard::data
