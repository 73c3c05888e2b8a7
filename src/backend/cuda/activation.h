#pragma once

#include "backend/cuda/device/activation.h"
#include "ops/activation.h"

namespace trainyard::backend::cuda {

// The op's attributes as kernels take them.
inline device::Activation to_device(const ops::ActivationAttrs& attrs) {
  return {attrs.kind, static_cast<float>(attrs.slope)};
}

}  // namespace trainyard::backend::cuda
