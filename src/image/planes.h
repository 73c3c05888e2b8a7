#pragma once

#include <cstdint>

#include "tensor/pixel_map.h"

namespace trainyard::image {

// (pixels, channels) bytes to (channels, pixels) floats. REQUIRES: 1 or 3 channels.
void to_planes(const std::uint8_t* from, std::int64_t channels, std::int64_t pixels, const PixelMap& map,
               float* out);

}  // namespace trainyard::image
