#pragma once

#include <memory>

#include "backend/cuda/context.h"
#include "backend/input_ring.h"

namespace trainyard::backend::cuda {

std::unique_ptr<Kernel> make_input_ring(Context& context, const InputRing& ring);

}  // namespace trainyard::backend::cuda
