#pragma once

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// Dense layers of few outputs, where a matrix product would leave most of its tiles empty.
struct NarrowDense {
  static constexpr int kMostOutputs = 32;

  std::int64_t batch, inputs;
  int outputs;
};

// bias and d_bias may be null. T: float or __nv_bfloat16.
template <typename T>
void dense_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* src, const T* weight,
                  const float* bias, Activation activation, T* dst);
template <typename T>
void dense_d_src_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* d_dst, const T* weight,
                        T* d_src);
template <typename T>
void dense_d_weight_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* d_dst, const T* src,
                           T* d_weight, float* d_bias);

}  // namespace trainyard::backend::cuda::device
