#pragma once

#include "image/image.h"
#include "tensor/image_recipe.h"

namespace trainyard::image {

// The window of the output's size that begins at `place` on the image; what lies outside of it is zero.
void place_image(const Image& image, const ImagePlace& place, PlaneSize output, std::uint8_t* out);

}  // namespace trainyard::image
