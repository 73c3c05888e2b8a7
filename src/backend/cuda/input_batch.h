#pragma once

#include <memory>

#include "backend/cuda/context.h"
#include "backend/input_batch.h"

namespace trainyard::backend::cuda {

// Null where the images are too large to be prepared on the GPU.
std::unique_ptr<Kernel> make_input_batch(Context& context, const InputBatch& batch);

}  // namespace trainyard::backend::cuda
