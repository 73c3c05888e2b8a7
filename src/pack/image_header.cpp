#include "pack/image_header.h"

#include <algorithm>
#include <cstdint>

namespace trainyard::pack {
namespace {

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

// A side of zero or beyond all images is a damaged header.
std::optional<ImageHeader> checked(const char* format, std::uint32_t height, std::uint32_t width) {
  constexpr std::uint32_t kMaxSide = 65'535;
  if (height == 0 || width == 0 || height > kMaxSide || width > kMaxSide) return std::nullopt;
  return ImageHeader{format, static_cast<int>(height), static_cast<int>(width)};
}

// Segments until the one that begins a frame (SOF0 to SOF15; three of these numbers mean something else).
std::optional<ImageHeader> read_jpeg_header(std::span<const std::byte> file) {
  constexpr std::uint32_t kFirstFrame = 0xC0, kLastFrame = 0xCF;
  for (std::size_t at = 2; at + 9 <= file.size();) {
    if (file[at] != std::byte{0xFF}) return std::nullopt;
    const std::uint32_t marker = std::to_integer<std::uint32_t>(file[at + 1]);
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (marker >= kFirstFrame && marker <= kLastFrame && marker != 0xC4 && marker != 0xC8 && marker != 0xCC)
      return checked("jpeg", big_endian(file.subspan(at + 5, 2)), big_endian(file.subspan(at + 7, 2)));
    at += 2 + big_endian(file.subspan(at + 2, 2));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ImageHeader> read_image_header(std::span<const std::byte> file) {
  constexpr std::byte kJpeg[] = {std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  constexpr std::uint32_t kPng = 0x89504E47, kFirstChunk = 0x49484452;  // "\x89PNG", "IHDR"
  if (file.size() >= 3 && std::equal(std::begin(kJpeg), std::end(kJpeg), file.begin()))
    return read_jpeg_header(file);
  if (file.size() < 24 || big_endian(file.first(4)) != kPng || big_endian(file.subspan(12, 4)) != kFirstChunk)
    return std::nullopt;
  return checked("png", big_endian(file.subspan(20, 4)), big_endian(file.subspan(16, 4)));
}

}  // namespace trainyard::pack
