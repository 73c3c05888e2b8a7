#pragma once

#include "backend/cuda/device/dropout.h"
#include "backend/cuda/device/launch.cuh"
#include "base/philox.h"

// For every kernel that drops while it reads.
namespace trainyard::backend::cuda::device {

__device__ inline Philox random_of(const Dropout& dropout) {
  const StepContext step = *dropout.context;
  return {step.seed, mix_streams(static_cast<std::uint64_t>(step.step), dropout.stream)};
}

__device__ inline float dropped(const Dropout& dropout, std::uint32_t word, float x) {
  return to_unit_float(word) >= dropout.rate ? dropout.factor * x : 0.0f;
}

}  // namespace trainyard::backend::cuda::device
