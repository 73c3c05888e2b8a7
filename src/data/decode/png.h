#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "data/decode/decode.h"

namespace trainyard::data {

// `encoded` must outlive the image. The whole PNG is decoded, because its rows cannot be decoded alone.
// 16-bit samples are scaled to 8 bits, palettes resolved; gamma is not applied.
std::unique_ptr<EncodedImage> open_png(std::span<const std::byte> encoded);

// Encodes an image of 1 or 3 channels.
std::vector<std::byte> encode_png(const Image& image);

}  // namespace trainyard::data
