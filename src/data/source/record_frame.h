#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::data {

// TFRecord's frame around a payload, little-endian: u64 length, u32 masked CRC-32C of these eight bytes,
// payload, u32 masked CRC-32C of the payload.
inline constexpr std::size_t kFrameHeadBytes = 12, kFrameTailBytes = 4;

struct Frame {
  std::string_view payload;
  std::uint32_t sum = 0;  // as the file has it

  bool sound() const;  // reads all of the payload
  std::size_t bytes() const { return kFrameHeadBytes + payload.size() + kFrameTailBytes; }
};

void append_frame(std::string& out, std::string_view payload);

// Returns the frame at the beginning of `rest` without a check of its payload. Returns nothing when the
// length is damaged or `rest` ends before the frame does; why_no_frame() says which.
std::optional<Frame> first_frame(std::string_view rest);
const char* why_no_frame(std::string_view rest);

}  // namespace trainyard::data
