#include "image/place_image.h"

#include <algorithm>
#include <cstring>

namespace trainyard::image {

void place_image(const Image& image, const ImagePlace& place, PlaneSize output, std::uint8_t* out) {
  const std::int64_t channels = image.channels();
  const std::int64_t left = std::clamp<std::int64_t>(-place.left, 0, output.width);
  const std::int64_t right = std::clamp(image.width() - place.left, left, output.width);
  for (std::int64_t y = 0; y < output.height; ++y, out += output.width * channels) {
    const std::int64_t from_y = place.top + y;
    const bool inside = from_y >= 0 && from_y < image.height() && left < right;
    if (!inside || right - left < output.width)
      std::memset(out, 0, static_cast<std::size_t>(output.width * channels));
    if (!inside) continue;
    const std::uint8_t* from = image.row(from_y) + (place.left + left) * channels;
    if (!place.flip) {
      std::memcpy(out + left * channels, from, static_cast<std::size_t>((right - left) * channels));
      continue;
    }
    for (std::int64_t x = left; x < right; ++x, from += channels)
      for (std::int64_t c = 0; c < channels; ++c) out[(output.width - 1 - x) * channels + c] = from[c];
  }
}

}  // namespace trainyard::image
