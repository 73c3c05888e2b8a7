#pragma once

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "ops/elementwise.h"

namespace trainyard::backend::cuda {

// Returns the op's attributes as kernels take them.
inline device::Activation to_device(const ops::ActivationAttrs& attrs) {
  return {attrs.kind, static_cast<float>(attrs.slope), static_cast<float>(attrs.gradient_scale)};
}

}  // namespace trainyard::backend::cuda
