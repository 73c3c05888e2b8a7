#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// dst[i, j] = sum over k of a[i * a_row + k * a_inner] * b[k * b_inner + j * b_column]; dst lies row by row.
struct PlainProduct {
  std::int64_t m, n, k, a_row, a_inner, b_inner, b_column;
};

// T: float or __nv_bfloat16.
template <typename T>
void plain_product(cudaStream_t stream, const PlainProduct& product, const T* a, const T* b, T* dst);

}  // namespace trainyard::backend::cuda::device
