#pragma once

// For tests only.

#include <cstdlib>

#include "base/philox.h"
#include "data/decode/image.h"

namespace trainyard::data {

inline Image noise_image(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint64_t seed) {
  Image image(width, height, channels);
  for (std::int64_t i = 0; i < image.bytes(); ++i)
    image.data()[i] = static_cast<std::uint8_t>(Philox(seed, 1).word(static_cast<std::uint64_t>(i)));
  return image;
}

// Makes ramps that differ by channel, which any interpolation between neighbours keeps.
inline Image smooth_image(std::int64_t width, std::int64_t height, std::int64_t channels) {
  Image image(width, height, channels);
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c) {
        const double across = static_cast<double>(x) / static_cast<double>(width),
                     down = static_cast<double>(y) / static_cast<double>(height);
        const double value = c == 0   ? 40 + 150 * across
                             : c == 1 ? 60 + 120 * down
                                      : 200 - 60 * (across + down);
        image.row(y)[x * channels + c] = static_cast<std::uint8_t>(value);
      }
  return image;
}

inline Image flat_image(std::int64_t width, std::int64_t height, std::int64_t channels, int value) {
  Image image(width, height, channels);
  for (std::int64_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(value);
  return image;
}

// Returns the largest difference of two images' bytes; 999 where their sizes differ.
inline int largest_difference(const Image& a, const Image& b) {
  if (a.width() != b.width() || a.height() != b.height() || a.channels() != b.channels()) return 999;
  int worst = 0;
  for (std::int64_t i = 0; i < a.bytes(); ++i) {
    const int difference = std::abs(a.data()[i] - b.data()[i]);
    worst = difference > worst ? difference : worst;
  }
  return worst;
}

}  // namespace trainyard::data
