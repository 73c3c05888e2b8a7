#pragma once

#include <cstdint>

#include "tensor/image_recipe.h"
#include "tensor/pixel_map.h"

namespace trainyard::backend {

// Which sample of the device's memory an image of a batch is made of.
struct GatheredSample {
  std::int32_t index = 0;  // counted in samples
  std::int32_t mirrored = 0;
};

// All that a device needs to make batches of preprocessed samples that lie in its memory, as bytes
// (height, width, channels) one behind the other. Which ones it takes for a step lies in a ring, sent by the
// host: where a ring of batches has images, this has a GatheredSample for each.
struct SampleGather {
  std::int64_t batch = 1, channels = 3;
  PlaneSize output;
  PixelMap map;

  std::int64_t sample_bytes() const { return channels * output.height * output.width; }
};

}  // namespace trainyard::backend
