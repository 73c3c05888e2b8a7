#pragma once

#include <array>
#include <cstdint>

namespace trainyard::image {

// (pixels, channels) bytes to (channels, pixels) floats, (x - centre of the channel) * scale.
// REQUIRES: 1 or 3 channels.
void to_planes(const std::uint8_t* from, std::int64_t channels, std::int64_t pixels,
               const std::array<float, 3>& centre, float scale, float* out);

}  // namespace trainyard::image
