#pragma once

#include "tensor/tensor.h"

namespace trainyard::predict {

// DataSetSheet holds what a data set gives to a training run.
struct DataSetSheet {
  const char* name;
  double images;  // of an epoch
  int classes;    // with one for the background, as tf_cnn_benchmarks counts them
  Shape image;    // (channel, row, column)

  bool has_small_images() const { return image[1] <= kLargestSmallSide; }
  static constexpr std::int64_t kLargestSmallSide = 32;
};

const std::vector<DataSetSheet>& known_data_sets();

// Ignores the case of letters and all but letters and digits: "CIFAR-10" is cifar10. Returns nothing for an
// unknown data set.
const DataSetSheet* find_data_set(std::string_view name);

// Returns the letters and digits of a name, in lower case.
std::string squeezed(std::string_view name);

}  // namespace trainyard::predict
