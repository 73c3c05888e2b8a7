#pragma once

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/pool/pool_kernels.h"

namespace trainyard::backend::cuda::device {

// dst, choice = the max pool of activation(src + bias); bias may be null. T: float or __nv_bfloat16.
template <typename T>
void bias_activation_pool(cudaStream_t stream, const Pool& pool, Activation activation, const float* bias,
                          const T* src, T* dst, std::uint8_t* choice);

}  // namespace trainyard::backend::cuda::device
