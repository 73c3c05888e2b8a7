#pragma once

#include "ops/elementwise.h"

namespace trainyard::backend::reference {

template <typename T>
T activate(const ops::ActivationAttrs& attrs, T x) {
  switch (attrs.kind) {
    case ops::Activation::none:
      return x;
    case ops::Activation::relu:
      return std::max(x, T(0));
    case ops::Activation::relu6:
      return std::min(std::max(x, T(0)), T(6));
    case ops::Activation::leaky_relu:
      return x > 0 ? x : static_cast<T>(attrs.slope) * x;
    case ops::Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ops::Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

// The derivative at the place where the output is y.
template <typename T>
T activation_slope(const ops::ActivationAttrs& attrs, T y) {
  switch (attrs.kind) {
    case ops::Activation::none:
      return 1;
    case ops::Activation::relu:
      return y > 0 ? T(1) : T(0);
    case ops::Activation::relu6:
      return y > 0 && y < 6 ? T(1) : T(0);
    case ops::Activation::leaky_relu:
      return y > 0 ? T(1) : static_cast<T>(attrs.slope);
    case ops::Activation::sigmoid:
      return y * (1 - y);
    case ops::Activation::tanh:
      return 1 - y * y;
  }
  return 1;
}

}  // namespace trainyard::backend::reference
