#pragma once

#include "backend/cuda/device/pool.h"
#include "backend/cuda/launch_kernel.h"
#include "ops/window.h"

namespace trainyard::backend::cuda {

device::Pool make_pool(const ops::Window2d& window, const Shape& src, const Shape& dst);

}  // namespace trainyard::backend::cuda
