#pragma once

// By libjpeg-turbo; without it, Error (unsupported) names what to install.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "data/decode/decode.h"

namespace trainyard::data {

// `encoded` must outlive it. The box alone is transformed, at the smallest scale that the request allows;
// what lies above and beside it is only read over, what lies below is not read. CMYK becomes RGB; how a
// camera was held (Exif) is not looked at.
std::unique_ptr<EncodedImage> open_jpeg(std::span<const std::byte> encoded);

// Of 1 or 3 channels, colours at half the resolution. REQUIRES: quality in 1 .. 100.
std::vector<std::byte> encode_jpeg(const Image& image, int quality);

bool jpeg_is_built();

}  // namespace trainyard::data
