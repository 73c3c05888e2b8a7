#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace trainyard::backend::cuda::device {

// Every element of a box goes from one place to another, both linear in its coordinates.
struct StridedCopy {
  struct Axis {
    std::int64_t length, src_stride, dst_stride;  // in elements
  };
  Axis axes[6];  // outermost first
  int rank = 0;
  int element_bytes = 4;  // 1, 2 or 4
};

void strided_copy(cudaStream_t stream, const StridedCopy& copy, const std::byte* src, std::byte* dst);

}  // namespace trainyard::backend::cuda::device
