#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// Element by element. T: float or __nv_bfloat16; dst may be a source.
template <typename T>
void scale(cudaStream_t stream, float factor, const T* src, T* dst, std::int64_t elements);
template <typename T>
void multiply(cudaStream_t stream, const T* a, const T* b, T* dst, std::int64_t elements);
template <typename T>
void fill(cudaStream_t stream, float value, T* dst, std::int64_t elements);
// dst = factor * *scalar * src, the scalar in device memory
template <typename T>
void scale_by(cudaStream_t stream, float factor, const T* scalar, const T* src, T* dst,
              std::int64_t elements);

}  // namespace trainyard::backend::cuda::device
