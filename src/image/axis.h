#pragma once

#include <cstdint>
#include <vector>

#include "image/resize.h"

namespace trainyard::image {

// What each output place of one axis is made of: `taps` neighbours from first[i] on, with their weights.
struct Axis {
  std::int64_t begin = 0, end = 0;  // of the source places that any output reads
  std::int64_t taps = 0;
  std::vector<std::int64_t> first;
  std::vector<float> weights;  // (outputs, taps)

  const float* weights_of(std::int64_t output) const { return weights.data() + output * taps; }
};

// Of [begin, begin + length) to `outputs` places, of a source of `size` places. Fills `axis`, whose memory is
// used again.
void plan_axis(ResizeMethod method, double begin, double length, std::int64_t size, std::int64_t outputs,
               bool flip, Axis& axis);

}  // namespace trainyard::image
