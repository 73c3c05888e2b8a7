#pragma once

#include <string>
#include <vector>

#include "tensor/shape.h"

namespace trainyard::predict {

// Weights as they are stored: plain order, f32.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> numbers;
};

}  // namespace trainyard::predict
