#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "backend/cuda/device/walk.h"

namespace trainyard::backend::cuda::device {

// src lies in dst with zeros around it, both densely. Axes from the outermost to the innermost.
struct Padding {
  struct Axis {
    std::int64_t before, src_length, dst_length;
  };
  Axis axes[Walk::kMaxRank];
  int rank = 0;
  int element_bytes = 4;  // 1, 2 or 4

  // An axis without zeros becomes part of the one around it.
  void append(const Axis& axis) {
    if (rank > 0 && axis.src_length == axis.dst_length) {
      Axis& outer = axes[rank - 1];
      outer = {outer.before * axis.src_length, outer.src_length * axis.src_length,
               outer.dst_length * axis.src_length};
    } else {
      axes[rank++] = axis;
    }
  }
};

void pad(cudaStream_t stream, const Padding& padding, const std::byte* src, std::byte* dst);

}  // namespace trainyard::backend::cuda::device
