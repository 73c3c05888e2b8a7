#include "data/decode/decode.h"

#include "base/error.h"

namespace trainyard::data {

namespace {

constexpr std::array<std::uint8_t, 3> kJpegBegins = {0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> kPngBegins = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

template <std::size_t kCount>
bool begins_with(std::span<const std::byte> encoded, const std::array<std::uint8_t, kCount>& bytes) {
  return encoded.size() >= kCount && std::memcmp(encoded.data(), bytes.data(), kCount) == 0;
}

}  // namespace

void EncodedImage::set_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    fail(ErrorKind::config, "an image of {}x{} pixels: 1 to {} a side are taken", width, height, kMaxSide);
  width_ = width;
  height_ = height;
}

std::unique_ptr<EncodedImage> open_image(std::span<const std::byte> encoded) {
  if (begins_with(encoded, kJpegBegins)) return open_jpeg(encoded);
  if (begins_with(encoded, kPngBegins)) return open_png(encoded);
  fail(ErrorKind::config, "{} bytes that begin neither as a JPEG nor as a PNG", encoded.size());
}

Image decode_image(std::span<const std::byte> encoded, std::int64_t channels) {
  const auto image = open_image(encoded);
  Image out;
  image->decode({.box = image->whole(), .channels = channels}, out);
  return out;
}

Image& decode_scratch() {
  thread_local Image scratch;
  return scratch;
}

void decode_resized(EncodedImage& image, const Box& box, std::int64_t channels, const ResizeTo& to,
                    std::uint8_t* out) {
  Image& decoded = decode_scratch();
  const Box found = image.decode(
      {.box = box, .channels = channels, .least_width = to.width, .least_height = to.height}, decoded);
  resize(decoded, found, to, out);
}

}  // namespace trainyard::data
