#pragma once

#include "image/decode.h"
#include "image/resize.h"

namespace trainyard::image {

// A box of the image, decoded at the smallest scale that still has the output's resolution, and resized.
void decode_resized(EncodedImage& image, const Box& box, std::int64_t channels, const ResizeTo& to,
                    std::uint8_t* out);

// Room for a decoded image, one a thread.
Image& decode_scratch();

}  // namespace trainyard::image
