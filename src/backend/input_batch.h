#pragma once

#include <cstdint>

#include "base/sample_order.h"
#include "tensor/image_recipe.h"

namespace trainyard::backend {

// All that a device needs to make the batches of a training run by itself, of a data set in its memory: the
// same samples in the same order, places and contrasts as data::BatchStream makes on the host.
struct InputBatch {
  SampleOrder order;  // over all images
  ImageRecipe recipe;
  std::int64_t channels = 1;
  PlaneSize image, output;
  std::int64_t batch = 1;
  std::int64_t worker = 0, workers = 1;

  std::int64_t image_bytes() const { return channels * image.height * image.width; }
  std::int64_t output_floats() const { return channels * output.height * output.width; }
};

}  // namespace trainyard::backend
