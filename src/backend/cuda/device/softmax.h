#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// Over each of `rows` rows. T: float or __nv_bfloat16. dst may be src, d_src may be d_dst or dst.
template <typename T>
void softmax(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* src, T* dst);
template <typename T>
void softmax_grad(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* d_dst, const T* dst,
                  T* d_src);

}  // namespace trainyard::backend::cuda::device
