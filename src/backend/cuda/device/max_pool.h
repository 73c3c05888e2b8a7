#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/device/pool.h"

namespace trainyard::backend::cuda::device {

// T: float or __nv_bfloat16.
template <typename T>
void max_pool(cudaStream_t stream, const Pool& pool, const T* src, T* dst, std::uint8_t* choice);
// `dst` null: no mask.
template <typename T>
void max_pool_d_src(cudaStream_t stream, const Pool& pool, const T* d_dst, const std::uint8_t* choice,
                    const T* dst, T* d_src);

}  // namespace trainyard::backend::cuda::device
