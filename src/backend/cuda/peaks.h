#pragma once

#include "backend/backend.h"
#include "backend/cuda/runtime/context.h"

namespace trainyard::backend::cuda {

// See Backend::device_peaks.
std::vector<DevicePeak> measure_device_peaks(const std::shared_ptr<Context>& context, double seconds);

}  // namespace trainyard::backend::cuda
