#pragma once

#include "backend/cuda/device/pool.h"
#include "backend/cuda/launch_kernel.h"
#include "ops/window.h"

namespace trainyard::backend::cuda {

device::Pool make_pool(const ops::Window2d& window, const Shape& src, const Shape& dst);

// For accept(): places are counted in 32 bits.
Decision want_countable_images(const KernelRequest& request);

}  // namespace trainyard::backend::cuda
