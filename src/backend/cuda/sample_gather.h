#pragma once

#include <memory>

#include "backend/cuda/context.h"
#include "backend/sample_gather.h"

namespace trainyard::backend::cuda {

std::unique_ptr<Kernel> make_sample_gather(Context& context, const SampleGather& gather);

}  // namespace trainyard::backend::cuda
