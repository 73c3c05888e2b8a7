#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "ops/activation_kind.h"

namespace trainyard::backend::cuda::device {

// The op's attributes as kernels take them.
struct Activation {
  ops::Activation kind;
  float slope;
  float gradient_scale = 1;
};

// T: float or __nv_bfloat16.
template <typename T>
void activation(cudaStream_t stream, Activation activation, const T* src, T* dst, std::int64_t elements);
template <typename T>
void activation_grad(cudaStream_t stream, Activation activation, const T* d_dst, const T* dst, T* d_src,
                     std::int64_t elements);

}  // namespace trainyard::backend::cuda::device
