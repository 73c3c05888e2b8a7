#pragma once

#include "networks/generator/parameter.h"

namespace trainyard::networks::generator {

// ParaDnn's fully connected network: `layers` dense layers of `width` with ReLU, then one to the classes.
struct FcSizes {
  std::int64_t layers, width, inputs, classes;
};

FcSizes fc_sizes(const Parameters& parameters, int classes);

}  // namespace trainyard::networks::generator
