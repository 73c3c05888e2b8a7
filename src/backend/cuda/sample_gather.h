#pragma once

#include <memory>

#include "backend/cuda/context.h"
#include "backend/input_ring.h"
#include "backend/sample_gather.h"

namespace trainyard::backend::cuda {

std::unique_ptr<Kernel> make_sample_gather(Context& context, const SampleGather& gather,
                                           const InputRing& ring);

}  // namespace trainyard::backend::cuda
