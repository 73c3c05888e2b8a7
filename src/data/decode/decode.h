#pragma once

#include "data/decode/image.h"
#include "data/decode/resize.h"

// These functions use libjpeg-turbo; without it, Error (unsupported) names the package to install.
namespace trainyard::data {

struct DecodeRequest {
  Box box;                    // within the image; whole pixels around it are decoded
  std::int64_t channels = 3;  // 1: gray, 3: red, green, blue; either is made of the other. Alpha is dropped.
  // A JPEG's pixels may be averaged by 2x2, 4x4 or 8x8, as long as the box keeps this many of them.
  std::int64_t least_width = kMaxSide, least_height = kMaxSide;
};

// An EncodedImage is an image whose header has been read. It serves one thread and one decoding.
class EncodedImage {
 public:
  virtual ~EncodedImage() = default;
  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  std::int64_t channels() const { return channels_; }  // as it is stored: 1 for gray, 3 for all others
  Box whole() const { return {0, 0, static_cast<double>(width_), static_cast<double>(height_)}; }

  // Returns the place of the wanted box in `out`, which may hold more around it. Error (config) when the
  // image is damaged; damage below the box is not seen.
  virtual Box decode(const DecodeRequest& request, Image& out) = 0;

 protected:
  // Throws an Error (config) when the sides exceed kMaxSide.
  void set_size(std::int64_t width, std::int64_t height);
  void set_gray(bool gray) { channels_ = gray ? 1 : 3; }

 private:
  std::int64_t width_ = 0, height_ = 0, channels_ = 3;
};

// Returns a JPEG or a PNG, told by its first bytes; `encoded` must outlive it. Error (config) for anything
// else.
std::unique_ptr<EncodedImage> open_image(std::span<const std::byte> encoded);

// Decodes the whole image.
Image decode_image(std::span<const std::byte> encoded, std::int64_t channels = 3);

// Decodes a box of the image at the smallest scale that still has the output's resolution, and resizes it.
void decode_resized(EncodedImage& image, const Box& box, std::int64_t channels, const ResizeTo& to,
                    std::uint8_t* out);

// Returns a buffer for a decoded image, one per thread.
Image& decode_scratch();

// `encoded` must outlive the image. Only the box is transformed, at the smallest scale that the request
// allows; data above and beside it is only parsed, data below is not read. CMYK becomes RGB; the orientation
// of the camera (Exif) is ignored.
std::unique_ptr<EncodedImage> open_jpeg(std::span<const std::byte> encoded);

// Encodes an image of 1 or 3 channels, with colours at half the resolution. REQUIRES: quality in 1 .. 100.
std::vector<std::byte> encode_jpeg(const Image& image, int quality);

bool jpeg_is_built();

// `encoded` must outlive the image. The whole PNG is decoded, because its rows cannot be decoded alone.
// 16-bit samples are scaled to 8 bits, palettes resolved; gamma is not applied.
std::unique_ptr<EncodedImage> open_png(std::span<const std::byte> encoded);

// Encodes an image of 1 or 3 channels.
std::vector<std::byte> encode_png(const Image& image);

}  // namespace trainyard::data
