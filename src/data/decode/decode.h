#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "data/decode/image.h"
#include "data/decode/resize.h"

namespace trainyard::data {

struct DecodeRequest {
  Box box;                    // within the image; whole pixels around it are decoded
  std::int64_t channels = 3;  // 1: gray, 3: red, green, blue; either is made of the other. Alpha is dropped.
  // A JPEG's pixels may come averaged by 2x2, 4x4 or 8x8, as long as the box keeps so many of them.
  std::int64_t least_width = kMaxSide, least_height = kMaxSide;
};

// An image of which the header is read. For one thread, and for one decoding.
class EncodedImage {
 public:
  virtual ~EncodedImage() = default;
  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  Box whole() const { return {0, 0, static_cast<double>(width_), static_cast<double>(height_)}; }

  // Where the wanted box lies in `out`, which may hold more around it. Error (config) when the image is
  // damaged; damage below the box is not seen.
  virtual Box decode(const DecodeRequest& request, Image& out) = 0;

 protected:
  // Error (config) when they are larger than we take.
  void set_size(std::int64_t width, std::int64_t height);

 private:
  std::int64_t width_ = 0, height_ = 0;
};

// A JPEG or a PNG, told by its first bytes; `encoded` must outlive it. Error (config) for anything else.
std::unique_ptr<EncodedImage> open_image(std::span<const std::byte> encoded);

// The whole of it.
Image decode_image(std::span<const std::byte> encoded, std::int64_t channels = 3);

// A box of the image, decoded at the smallest scale that still has the output's resolution, and resized.
void decode_resized(EncodedImage& image, const Box& box, std::int64_t channels, const ResizeTo& to,
                    std::uint8_t* out);

// Room for a decoded image, one a thread.
Image& decode_scratch();

}  // namespace trainyard::data
