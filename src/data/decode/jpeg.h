#pragma once

// These functions use libjpeg-turbo; without it, Error (unsupported) names the package to install.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "data/decode/decode.h"

namespace trainyard::data {

// `encoded` must outlive the image. Only the box is transformed, at the smallest scale that the request
// allows; data above and beside it is only parsed, data below is not read. CMYK becomes RGB; the orientation
// of the camera (Exif) is ignored.
std::unique_ptr<EncodedImage> open_jpeg(std::span<const std::byte> encoded);

// Encodes an image of 1 or 3 channels, with colours at half the resolution. REQUIRES: quality in 1 .. 100.
std::vector<std::byte> encode_jpeg(const Image& image, int quality);

bool jpeg_is_built();

}  // namespace trainyard::data
