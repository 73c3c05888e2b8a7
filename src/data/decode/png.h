#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "data/decode/decode.h"

namespace trainyard::data {

// `encoded` must outlive it. All of a PNG is decoded: its rows cannot be had alone. Bits of 16-bit samples
// are scaled to 8, palettes resolved; gamma is not applied.
std::unique_ptr<EncodedImage> open_png(std::span<const std::byte> encoded);

// Of 1 or 3 channels.
std::vector<std::byte> encode_png(const Image& image);

}  // namespace trainyard::data
