#pragma once

#include <cstdint>

#include "image/draws.h"
#include "image/image.h"

namespace trainyard::image {

// A box of 5 to 100 % of an image's area and with sides in a ratio of 3/4 to 4/3, both drawn evenly, anywhere
// in it. Less than a tenth of the image is drawn again, as TensorFlow's sample_distorted_bounding_box does
// when the whole image is the object; after 100 tries it is the whole image.
Box random_box(std::int64_t width, std::int64_t height, Draws& draws);

}  // namespace trainyard::image
