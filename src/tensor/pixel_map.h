#pragma once

namespace trainyard {

// How bytes of an image become floats, as plain numbers: for the CPU and for a GPU.
struct PixelMap {
  // (x - centre of the channel) * scale.
  float centre[3] = {0, 0, 0};
  float scale = 1;
  // Instead of these: (x - mean) / max(deviation, 1 / sqrt(n)) over all n values of the image.
  bool standardise = false;
};

}  // namespace trainyard
