#pragma once

#include <cstdint>

#include "image/image.h"

namespace trainyard::image {

// Centres of pixels lie at halves: with s = box width / output width, output pixel x looks at
// c = box.left + (x + 0.5) s, and a source pixel i has its centre at i + 0.5. Only pixels that the box
// touches are read; beyond them the last one is repeated, as if the box were all there is of the image.
enum class ResizeMethod {
  nearest,   // the pixel that c lies in
  bilinear,  // 2x2 around c, also when the image shrinks
  bicubic,   // 4x4 around c, the kernel of Keys with a = -0.5
  area,      // the mean over [c - s/2, c + s/2), parts of pixels counted as such
};

struct ResizeTo {
  std::int64_t width = 0, height = 0;
  ResizeMethod method = ResizeMethod::bilinear;
  bool flip = false;  // mirror left and right
};

// `box` of the image to `out`, (height, width, channels) bytes, rounded to nearest and clipped. Computed in
// f32: machines with and without fused multiply-add may differ by one. REQUIRES: 1 or 3 channels, and a box
// within the image.
void resize(const Image& image, const Box& box, const ResizeTo& to, std::uint8_t* out);

}  // namespace trainyard::image
