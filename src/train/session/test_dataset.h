#pragma once

#include "data/source/dataset.h"
#include "data/source/synthetic.h"

namespace trainyard::train {

// Enough to train on, in no time.
inline data::Dataset small_dataset() {
  return data::make_synthetic(
      {.image_shape = {1, 12, 12}, .classes = 4, .train_images = 60, .test_images = 10, .seed = 5});
}

}  // namespace trainyard::train
