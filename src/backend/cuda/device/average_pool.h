#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/device/pool.h"

namespace trainyard::backend::cuda::device {

// T: float or __nv_bfloat16. `count_padding`: see ops::AveragePoolAttrs.
template <typename T>
void average_pool(cudaStream_t stream, const Pool& pool, bool count_padding, const T* src, T* dst);
template <typename T>
void average_pool_d_src(cudaStream_t stream, const Pool& pool, bool count_padding, const T* d_dst, T* d_src);

}  // namespace trainyard::backend::cuda::device
