#pragma once

#include "backend/cuda/pool/pool_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "ops/window.h"

namespace trainyard::backend::cuda {

device::Pool make_pool(const ops::Window2d& window, const Shape& src, const Shape& dst);

}  // namespace trainyard::backend::cuda
