#pragma once

#include "data/decode/image.h"

namespace trainyard::data {

// Each output place of one axis is a sum of `taps` neighbours from first[i] on, with their weights.
struct Axis {
  std::int64_t begin = 0, end = 0;  // of the source places that any output reads
  std::int64_t taps = 0;
  std::vector<std::int64_t> first;
  std::vector<float> weights;  // (outputs, taps)

  const float* weights_of(std::int64_t output) const { return weights.data() + output * taps; }
};

// Centres of pixels lie at halves: with s = box width / output width, output pixel x looks at
// c = box.left + (x + 0.5) s, and a source pixel i has its centre at i + 0.5. Only pixels that the box
// touches are read; beyond them the last one is repeated, as if the box were all there is of the image.
enum class ResizeMethod {
  nearest,   // the pixel that c lies in
  bilinear,  // 2x2 around c, also when the image shrinks
  bicubic,   // 4x4 around c, the kernel of Keys with a = -0.5
  area,      // the mean over [c - s/2, c + s/2), parts of pixels counted as such
};

// Plans the resizing of [begin, begin + length) to `outputs` places, from a source of `size` places. Fills
// `axis` and reuses its memory.
void plan_axis(ResizeMethod method, double begin, double length, std::int64_t size, std::int64_t outputs,
               bool flip, Axis& axis);

struct ResizeTo {
  std::int64_t width = 0, height = 0;
  ResizeMethod method = ResizeMethod::bilinear;
  bool flip = false;  // mirror left and right
};

// Resizes `box` of the image to `out`, (height, width, channels) bytes, rounded to nearest and clipped. It
// computes in f32: machines with and without fused multiply-add may differ by one. REQUIRES: 1 or 3 channels,
// and a box within the image.
void resize(const Image& image, const Box& box, const ResizeTo& to, std::uint8_t* out);

}  // namespace trainyard::data
