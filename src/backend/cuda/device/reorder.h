#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "backend/cuda/device/walk.h"

namespace trainyard::backend::cuda::device {

// Element i of dst, which lies densely, is element first + from.offset(i) of src.
struct StridedCopy {
  Walk from;
  std::int64_t first = 0;
  std::int64_t elements = 0;
  int element_bytes = 4;  // 1, 2 or 4
};

void strided_copy(cudaStream_t stream, const StridedCopy& copy, const std::byte* src, std::byte* dst);

}  // namespace trainyard::backend::cuda::device
