#pragma once

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// In place y[row, c] = activation(y[row, c] + bias[c]); bias may be null. T: float or __nv_bfloat16.
template <typename T>
void bias_activation(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
                     std::int64_t channels);

}  // namespace trainyard::backend::cuda::device
