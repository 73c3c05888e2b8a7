#pragma once

#include <cuda_runtime_api.h>

#include "backend/device.h"

namespace trainyard::backend::cuda::device {

// What ops::DropoutAttrs say; `context` lies in device memory.
struct Dropout {
  const StepContext* context;
  std::uint64_t stream;
  float rate, factor;
};

// A tensor whose elements lie in logical order: one image, its pixels the elements, one channel.
struct DropoutShape {
  std::int64_t images, pixels, channels;  // channels last
};

// T: float or __nv_bfloat16. dst may be src.
template <typename T>
void dropout(cudaStream_t stream, const Dropout& dropout, const DropoutShape& shape, const T* src, T* dst);

}  // namespace trainyard::backend::cuda::device
