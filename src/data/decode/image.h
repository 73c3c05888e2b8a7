#pragma once

#include "base/standard.h"
#include "tensor/image_recipe.h"

namespace trainyard::data {

// Holds an image of bytes, (height, width, channels), without gaps. It can be filled again and again: its
// memory grows to the largest image and stays.
class Image {
 public:
  Image() = default;
  Image(std::int64_t width, std::int64_t height, std::int64_t channels) { reshape(width, height, channels); }

  // The content is undefined afterwards.
  void reshape(std::int64_t width, std::int64_t height, std::int64_t channels) {
    width_ = width, height_ = height, channels_ = channels;
    const auto wanted = static_cast<std::size_t>(bytes());
    if (wanted <= capacity_) return;
    pixels_ = std::make_unique_for_overwrite<std::uint8_t[]>(wanted);
    capacity_ = wanted;
  }

  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t row_bytes() const { return width_ * channels_; }
  std::int64_t bytes() const { return height_ * row_bytes(); }
  std::uint8_t* data() { return pixels_.get(); }
  const std::uint8_t* data() const { return pixels_.get(); }
  std::uint8_t* row(std::int64_t y) { return data() + y * row_bytes(); }
  const std::uint8_t* row(std::int64_t y) const { return data() + y * row_bytes(); }

 private:
  std::int64_t width_ = 0, height_ = 0, channels_ = 0;
  std::unique_ptr<std::uint8_t[]> pixels_;
  std::size_t capacity_ = 0;
};

// A Box is a part of an image in units of its pixels: pixel i covers [i, i + 1).
struct Box {
  double left = 0, top = 0, width = 0, height = 0;
};

// Limits each side of an encoded image, at most 256 megapixels: more is refused before memory is allocated.
constexpr std::int64_t kMaxSide = 16'384;

// JPEG weighs the channels of luminance like this (ITU-R BT.601).
constexpr double kRedWeight = 0.299, kGreenWeight = 0.587, kBlueWeight = 0.114;

inline void gray_of(const Image& rgb, Image& out) {
  constexpr int kRed = static_cast<int>(kRedWeight * 65536 + 0.5),
                kBlue = static_cast<int>(kBlueWeight * 65536 + 0.5), kGreen = 65536 - kRed - kBlue;
  out.reshape(rgb.width(), rgb.height(), 1);
  const std::uint8_t* from = rgb.data();
  for (std::int64_t i = 0; i < out.bytes(); ++i, from += 3)
    out.data()[i] =
        static_cast<std::uint8_t>((kRed * from[0] + kGreen * from[1] + kBlue * from[2] + 32768) >> 16);
}

// (pixels, channels) bytes to (channels, pixels) floats. REQUIRES: 1 or 3 channels.
void to_planes(const std::uint8_t* from, std::int64_t channels, std::int64_t pixels, const PixelMap& map,
               float* out);

// The window of the output's size that begins at `place` on the image; what lies outside of it is zero.
void place_image(const Image& image, const ImagePlace& place, PlaneSize output, std::uint8_t* out);

}  // namespace trainyard::data
