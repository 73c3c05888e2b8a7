#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/device/chunks.h"
#include "backend/cuda/device/walk.h"

namespace trainyard::backend::cuda::device {

struct CastTensor {
  const void* src;
  void* dst;
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool from_bf16, to_bf16;  // otherwise f32
  Walk walk;                // element i of dst is src[walk.offset(i)]
};

// ops::cast_op, all tensors in one launch.
void cast(cudaStream_t stream, const Chunks<CastTensor>& chunks);

}  // namespace trainyard::backend::cuda::device
