#pragma once

#include "backend/cuda/device/activation.h"

// For every kernel that applies an activation while it writes.
namespace trainyard::backend::cuda::device {

__device__ inline float activate(Activation activation, float x) {
  switch (activation.kind) {
    case ops::Activation::relu:
      return x > 0 ? x : x == x ? 0.0f : x;  // NaN stays NaN
    case ops::Activation::relu6:
      return x > 6 ? 6.0f : x > 0 ? x : x == x ? 0.0f : x;
    case ops::Activation::leaky_relu:
      return x > 0 ? x : activation.slope * x;
    case ops::Activation::sigmoid:
      return 1 / (1 + expf(-x));
    case ops::Activation::tanh:
      return tanhf(x);
    case ops::Activation::none:
      break;
  }
  return x;
}

// The derivative at the place where the output is y.
__device__ inline float activation_slope(Activation activation, float y) {
  switch (activation.kind) {
    case ops::Activation::relu:
      return y > 0 ? 1.0f : 0.0f;
    case ops::Activation::relu6:
      return y > 0 && y < 6 ? 1.0f : 0.0f;
    case ops::Activation::leaky_relu:
      return y > 0 ? 1.0f : activation.slope;
    case ops::Activation::sigmoid:
      return y * (1 - y);
    case ops::Activation::tanh:
      return 1 - y * y;
    case ops::Activation::none:
      break;
  }
  return 1;
}

}  // namespace trainyard::backend::cuda::device
