#include "image/planes.h"

namespace trainyard::image {

void to_planes(const std::uint8_t* __restrict from, std::int64_t channels, std::int64_t pixels,
               const std::array<float, 3>& centre, float scale, float* __restrict out) {
  const float first = centre[0], second = centre[1], third = centre[2];
  if (channels == 1) {
    for (std::int64_t i = 0; i < pixels; ++i) out[i] = (static_cast<float>(from[i]) - first) * scale;
    return;
  }
  float *red = out, *green = out + pixels, *blue = out + 2 * pixels;
  for (std::int64_t i = 0; i < pixels; ++i) {
    red[i] = (static_cast<float>(from[3 * i]) - first) * scale;
    green[i] = (static_cast<float>(from[3 * i + 1]) - second) * scale;
    blue[i] = (static_cast<float>(from[3 * i + 2]) - third) * scale;
  }
}

}  // namespace trainyard::image
